(function_definition name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(class_definition name: (_) @name) @definition.class
(object_definition name: (_) @name) @definition.class
(trait_definition name: (_) @name) @definition.trait
(enum_definition name: (_) @name) @definition.enum
(given_definition name: (_) @name) @definition.class
(extension_definition "extension" @name) @definition.class
(package_object name: (_) @name) @definition.module
(package_clause name: (_) @name body: (_)) @definition.module
(type_definition name: (_) @name) @definition.type
((val_definition pattern: (identifier) @name) @definition.constant
  (#match? @name "^[A-Z]"))

(import_declaration . path: (_) @source (identifier) @name .) @import
(import_declaration . path: (_) @source (namespace_wildcard) @name) @import
(import_declaration . path: (_) @source (namespace_selectors (identifier) @name)) @import
(import_declaration . path: (_) @source (namespace_selectors (_ alias: (_) @name))) @import
