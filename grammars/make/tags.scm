((rule (targets (word) @name)) @definition.function
  (#not-match? @name "^[.]"))
(rule (targets [(variable_reference) (concatenation) (function_call)] @name)) @definition.function
(define_directive name: (word) @name) @definition.macro
((variable_assignment name: (word) @name) @definition.constant
  (#match? @name "^[A-Z][A-Z0-9_]*$"))

(include_directive filenames: (list (_) @name @source)) @import
