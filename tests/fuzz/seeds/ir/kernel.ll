@_ZZ1fvE1n = internal addrspace(1) global i32 0, align 4
@_ZZ1fvE1t = internal addrspace(4) constant [2 x float] zeroinitializer, align 4

define protected amdgpu_kernel void @_Z1kv(ptr addrspace(1) noundef %0) #0 !dbg !3 {
  %2 = call float @"_ZNK3$_0cviEv"(float 1.0) #1, !dbg !5
  %3 = load volatile float, ptr %0, align 4, !dbg !4
  call void asm sideeffect "s_nop 0", ""(), !dbg !5
  %4 = call float %2(float 1.0), !dbg !4
  ret void, !dbg !4
}

define internal float @"_ZNK3$_0cviEv"(float %0) #0 !dbg !7 {
  %2 = tail call float @llvm.fabs.f32(float %0)
  %3 = load i32, ptr addrspacecast (ptr addrspace(1) @_ZZ1fvE1n to ptr), align 4
  %4 = load i32, ptr addrspacecast (ptr addrspace(4) @_ZZ1fvE1t to ptr), align 4
  call void @_Z4sinfv()
  ret float %2
}

declare float @llvm.fabs.f32(float) #1
declare void @_Z4sinfv() #0

attributes #0 = { convergent nounwind }
attributes #1 = { nounwind memory(none) }
!1 = !DIFile(filename: "k.hip", directory: "/")
!3 = distinct !DISubprogram(name: "k", file: !1, line: 1, scopeLine: 2)
!4 = !DILocation(line: 1, column: 1, scope: !3)
!5 = !DILocation(line: 1, column: 1, scope: !6, inlinedAt: !4)
!6 = distinct !DILexicalBlock(scope: !3, file: !1, line: 1, column: 1)
!7 = distinct !DISubprogram(name: "operator int", file: !1, line: 1, scopeLine: 2)
