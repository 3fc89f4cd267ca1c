(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.method
(class name: (_) @name) @definition.class
(singleton_class value: (_) @name) @definition.class
(module name: (_) @name) @definition.module
(alias name: (_) @name) @definition.function
(assignment left: (constant) @name) @definition.constant

((call method: (identifier) @_require arguments: (argument_list . (string (string_content) @name))) @import
  (#any-of? @_require "require" "require_relative" "load"))
