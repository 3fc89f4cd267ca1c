(value_definition (let_binding pattern: (_) @name (parameter))) @definition.function
(value_definition
  (let_binding pattern: (value_name) @name body: [(fun_expression) (function_expression)])) @definition.function
(value_definition (let_binding pattern: (value_name) @name)) @definition.constant
(value_specification (value_name) @name) @definition.function
(value_specification (parenthesized_operator) @name) @definition.function
(external (value_name) @name) @definition.function

(type_definition (type_binding name: (_) @name)) @definition.type
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.type
(module_definition (module_binding (module_name) @name)) @definition.module
(module_type_definition (module_type_name) @name) @definition.interface
(class_definition (class_binding (class_name) @name)) @definition.class
(class_type_definition (class_type_binding (class_type_name) @name)) @definition.interface
(method_definition (method_name) @name) @definition.method
(method_specification (method_name) @name) @definition.method

(open_module module: (_) @name) @import
(include_module module: (_) @name) @import
