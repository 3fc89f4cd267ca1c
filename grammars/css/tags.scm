(rule_set (selectors . (_) @name)) @definition.struct
(media_statement . (_) @name) @definition.module
(supports_statement . (_) @name) @definition.module
(keyframes_statement (keyframes_name) @name) @definition.function
(at_rule (at_keyword) @name (block)) @definition.module

(import_statement . (string_value) @name) @import
(import_statement . (call_expression (arguments . (_) @name))) @import
