(from_instruction as: (image_alias) @name) @definition.constant
(from_instruction (image_spec name: (_) @name)) @definition.constant
(arg_instruction name: (_) @name) @definition.constant

(from_instruction (image_spec) @source as: (image_alias) @name) @import
(from_instruction (image_spec) @name) @import
