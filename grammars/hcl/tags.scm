((block . (identifier) @_kind (string_lit (template_literal) @name) . (block_start)) @definition.constant
  (#any-of? @_kind "variable" "output"))
((block . (identifier) @_kind (string_lit (template_literal) @name) . (block_start)) @definition.module
  (#eq? @_kind "module"))
(block (string_lit (template_literal) @name) . (block_start)) @definition.struct
(block . (identifier) . (identifier) @name . (block_start)) @definition.struct
((block . (identifier) @name . (block_start)) @definition.struct
  (#any-of? @name "terraform" "locals" "import" "moved" "removed" "check" "packer"))
