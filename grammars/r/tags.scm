(binary_operator
  lhs: (_) @name
  operator: ["<-" "=" "<<-"]
  rhs: (function_definition)) @definition.function
((binary_operator lhs: (identifier) @name operator: ["<-" "="]) @definition.constant
  (#match? @name "^[A-Z][A-Z0-9_.]*$"))

((call
  function: (identifier) @_define
  arguments: (arguments . argument: (argument value: (string (string_content) @name)))) @definition.class
  (#any-of? @_define "setClass" "setRefClass" "R6Class"))
((binary_operator
  lhs: (identifier) @name
  operator: ["<-" "="]
  rhs: (call function: (_) @_define)) @definition.class
  (#any-of? @_define "setClass" "setRefClass" "R6Class" "R6::R6Class"))
((call
  function: (identifier) @_define
  arguments: (arguments . argument: (argument value: (string (string_content) @name)))) @definition.method
  (#any-of? @_define "setGeneric" "setMethod" "setReplaceMethod" "setValidity"))

(argument name: (identifier) @name value: (function_definition)) @definition.function

((call
  function: (identifier) @_library
  arguments: (arguments . argument: (argument value: [(identifier) (string (string_content))] @name))) @import
  (#any-of? @_library "library" "require" "requireNamespace" "source"))
((call
  arguments: (arguments
    argument: (argument
      value: (call
        function: (identifier) @_library
        arguments: (arguments . argument: (argument value: [(identifier) (string (string_content))] @name)))))) @import
  (#any-of? @_library "library" "require" "requireNamespace"))
