(subroutine_declaration_statement name: (_) @name) @definition.function
(method_declaration_statement name: (_) @name) @definition.method
(package_statement name: (_) @name) @definition.module
(class_statement name: (_) @name) @definition.class
((use_statement
  module: (package) @_constant
  (list_expression . (autoquoted_bareword) @name)) @definition.constant
  (#eq? @_constant "constant"))

((use_statement module: (package) @name) @import
  (#not-match? @name "^(?:constant|strict|warnings|utf8|feature|v?[0-9].*)$"))
(expression_statement (require_expression (bareword) @name)) @import
