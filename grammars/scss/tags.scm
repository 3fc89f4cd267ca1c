(mixin_statement name: (_) @name) @definition.macro
(function_statement name: (_) @name) @definition.function

(use_statement (string_value) @name) @import
(forward_statement (string_value) @name) @import
