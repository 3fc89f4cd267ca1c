(message (message_name) @name) @definition.struct
(enum (enum_name) @name) @definition.enum
(service (service_name) @name) @definition.interface
(rpc (rpc_name) @name) @definition.method
(extend (full_ident) @name) @definition.struct
(oneof (identifier) @name) @definition.field

(import path: (string) @name) @import
