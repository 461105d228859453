// Rows of ops_gfx90a.def, and gfx90a's words for what it shares with gfx942, assembled for gfx90a.
v_mac_f32_e32 v1, v2, v3
v_mac_f32_e32 v1, 0x12345678, v3
v_mac_f32_e64 v1, -v2, |s3| clamp mul:2
v_mac_f32_dpp v1, v2, v3 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
v_madmk_f32 v1, v2, 0x3f8ccccd, v3
v_madak_f32 v1, v2, v3, 0x3f8ccccd
v_mad_f32 v1, -v2, |v3|, 1.0 clamp div:2
v_mad_f32 v1, v2, s3, v4
v_mad_legacy_f32 v1, v2, v3, v4
v_mfma_f32_32x32x1f32 v[0:31], v32, v33, v[0:31]
v_mfma_f32_32x32x1f32 a[0:31], v32, a33, 1.0 cbsz:1 abid:1 blgp:3
v_mfma_f32_16x16x1f32 a[0:15], v32, v33, a[0:15]
v_mfma_f32_4x4x1f32 a[0:3], v32, v33, a[0:3]
v_mfma_f32_32x32x2f32 a[0:15], v32, v33, a[0:15]
v_mfma_f32_16x16x4f32 a[0:3], v32, v33, a[0:3]
v_mfma_f32_32x32x4f16 a[0:31], v[32:33], v[34:35], a[0:31]
v_mfma_f32_16x16x4f16 a[0:15], v[32:33], v[34:35], a[0:15]
v_mfma_f32_4x4x4f16 a[0:3], v[32:33], v[34:35], a[0:3]
v_mfma_f32_32x32x8f16 a[0:15], v[32:33], v[34:35], a[0:15]
v_mfma_f32_16x16x16f16 a[0:3], v[32:33], v[34:35], a[0:3] blgp:5
v_mfma_i32_32x32x4i8 a[0:31], v32, v33, a[0:31]
v_mfma_i32_16x16x4i8 a[0:15], v32, v33, a[0:15]
v_mfma_i32_4x4x4i8 a[0:3], v32, v33, a[0:3]
v_mfma_i32_32x32x8i8 a[0:15], v32, v33, a[0:15]
v_mfma_i32_16x16x16i8 v[0:3], a32, v33, 2
v_mfma_f32_32x32x4bf16_1k a[0:31], v[32:33], v[34:35], a[0:31]
v_mfma_f32_16x16x4bf16_1k a[0:15], v[32:33], v[34:35], a[0:15]
v_mfma_f32_4x4x4bf16_1k a[0:3], v[32:33], v[34:35], a[0:3]
v_mfma_f32_32x32x8bf16_1k a[0:15], v[32:33], v[34:35], a[0:15]
v_mfma_f32_16x16x16bf16_1k a[0:3], v[32:33], v[34:35], a[0:3]
v_mfma_f32_32x32x2bf16 a[0:31], v32, v33, a[0:31]
v_mfma_f32_16x16x2bf16 a[0:15], v32, v33, a[0:15]
v_mfma_f32_4x4x2bf16 a[0:3], v32, v33, a[0:3]
v_mfma_f32_32x32x4bf16 a[0:15], v32, v33, a[0:15]
v_mfma_f32_16x16x8bf16 a[0:3], v32, v33, a[0:3]
v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[10:11], v[0:7]
v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[10:11], v[0:7] blgp:1
v_mfma_f64_4x4x4f64 a[0:1], v[8:9], v[10:11], a[0:1]
flat_load_dword v1, v[2:3] offset:4095 glc slc scc
flat_atomic_add v1, v[2:3], v4 offset:8 glc
global_atomic_cmpswap_x2 v[0:1], v2, v[4:7], s[2:3] glc scc
global_store_dwordx4 v[2:3], v[4:7], off offset:-16 slc
global_load_ubyte v[2:3], off lds
global_load_sbyte v[2:3], off offset:16 glc slc lds
global_load_ushort v2, s[4:5] offset:-16 lds
global_load_sshort v[2:3], off lds
global_load_dword v[2:3], off offset:8 lds
scratch_load_dword v1, v2, off offset:-4 glc slc scc
scratch_load_dword v1, off, s3 offset:16
scratch_store_byte v2, v1, off
scratch_load_ubyte v32, v1, off
scratch_load_sbyte v32, v1, off
scratch_load_ushort v32, v1, off
scratch_load_sshort v32, v1, off
scratch_load_dwordx2 v[32:33], off, s1
scratch_load_dwordx3 v[32:34], off, s1
scratch_load_dwordx4 v[32:35], off, s1
scratch_store_byte_d16_hi off, v16, s1
scratch_store_short off, v16, s1
scratch_store_short_d16_hi off, v16, s1
scratch_store_dword off, v16, s1
scratch_store_dwordx2 off, v[16:17], s1
scratch_store_dwordx3 off, v[16:18], s1
scratch_store_dwordx4 off, v[16:19], s1
scratch_load_ubyte_d16 v32, v1, off
scratch_load_ubyte_d16_hi v32, v1, off
scratch_load_sbyte_d16 v32, v1, off
scratch_load_sbyte_d16_hi v32, v1, off
scratch_load_short_d16 v32, v1, off
scratch_load_short_d16_hi v32, v1, off
buffer_load_dwordx4 a[4:7], v3, s[4:7], s8 offen offset:16 glc slc scc
buffer_load_dword v2, s[8:11], s3 offen glc slc scc lds
buffer_atomic_add v1, off, s[4:7], 0 glc
buffer_wbl2
buffer_invl2
buffer_wbinvl1
buffer_wbinvl1_vol
tbuffer_load_format_x v4, off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 glc slc scc
