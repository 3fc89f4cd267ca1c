(function name: (_) @name) @definition.function
(function (infix operator: (_) @name)) @definition.function
(bind name: (_) @name) @definition.function

(data_type name: (_) @name) @definition.struct
(newtype name: (_) @name) @definition.struct
(class name: (_) @name) @definition.interface
(instance name: (_) @name) @definition.class
(type_synomym name: (_) @name) @definition.type
(type_family name: (_) @name) @definition.type
(data_family name: (_) @name) @definition.type
(pattern_synonym (signature synonym: (_) @name)) @definition.function
(foreign_import (signature name: (_) @name)) @definition.function

(import module: (_) @source names: (import_list name: (_) @name)) @import
(import module: (_) @source alias: (_) @name) @import
(import module: (_) @name !alias !names) @import
