(Decl (FnProto function: (IDENTIFIER) @name)) @definition.function
(Decl
  (VarDecl variable_type_function: (IDENTIFIER) @name
    (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType "union")))))) @definition.struct
(Decl
  (VarDecl variable_type_function: (IDENTIFIER) @name
    (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType "enum")))))) @definition.enum
(Decl
  (VarDecl variable_type_function: (IDENTIFIER) @name
    (ErrorUnionExpr (SuffixExpr (ContainerDecl))))) @definition.struct
(Decl
  (VarDecl variable_type_function: (IDENTIFIER) @name
    (ErrorUnionExpr (SuffixExpr (ErrorSetDecl))))) @definition.enum
((Decl (VarDecl "const" variable_type_function: (IDENTIFIER) @name (ErrorUnionExpr (SuffixExpr . (_) @_value)))) @definition.constant
  (#not-eq? @_value "@import"))
(TestDecl (STRINGLITERALSINGLE) @name) @definition.function
(TestDecl (IDENTIFIER) @name) @definition.function

((Decl
  (VarDecl variable_type_function: (IDENTIFIER) @name
    (ErrorUnionExpr
      (SuffixExpr
        (BUILTINIDENTIFIER) @_import
        (FnCallArguments (ErrorUnionExpr (SuffixExpr (STRINGLITERALSINGLE) @source))))))) @import
  (#eq? @_import "@import"))
