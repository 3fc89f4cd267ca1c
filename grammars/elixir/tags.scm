((call
  target: (identifier) @_define
  (arguments . [(call target: (_) @name) (identifier) @name])) @definition.function
  (#any-of? @_define "def" "defp" "defdelegate" "defn" "defnp"))
((call
  target: (identifier) @_define
  (arguments . (binary_operator left: [(call target: (_) @name) (identifier) @name] operator: "when"))) @definition.function
  (#any-of? @_define "def" "defp" "defdelegate" "defn" "defnp"))
((call
  target: (identifier) @_define
  (arguments . (binary_operator operator: _ @name))) @definition.function
  (#any-of? @_define "def" "defp"))
((call
  target: (identifier) @_define
  (arguments . [(call target: (_) @name) (identifier) @name])) @definition.macro
  (#any-of? @_define "defmacro" "defmacrop" "defguard" "defguardp"))
((call
  target: (identifier) @_define
  (arguments . (binary_operator left: [(call target: (_) @name) (identifier) @name] operator: "when"))) @definition.macro
  (#any-of? @_define "defmacro" "defmacrop" "defguard" "defguardp"))

((call target: (identifier) @_define (arguments . (_) @name)) @definition.module
  (#eq? @_define "defmodule"))
((call target: (identifier) @_define (arguments . (_) @name)) @definition.interface
  (#eq? @_define "defprotocol"))
((call target: (identifier) @_define (arguments . (_) @name)) @definition.class
  (#eq? @_define "defimpl"))
((call target: (identifier) @_define (arguments . (string (quoted_content) @name))) @definition.function
  (#any-of? @_define "test" "describe"))

((call target: (identifier) @_import (arguments . (_) @name)) @import
  (#any-of? @_import "import" "use" "alias" "require"))
