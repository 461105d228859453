// Rows of ops_gfx950.def, assembled for gfx950.
v_bitop3_b32 v1, v2, v3, v4 bitop3:0x6c
v_bitop3_b32 v1, v2, v3, v4 bitop3:0xff
v_bitop3_b32 v1, v2, s3, v4
v_bitop3_b32 v255, 7, s3, v4 bitop3:0x81
v_bitop3_b16 v1, v2, v3, v4 bitop3:0x6c
v_bitop3_b16 v1, v2, v3, v4 bitop3:0x6c op_sel:[1,0,0,0]
v_bitop3_b16 v1, v2, v3, v4 bitop3:0x12 op_sel:[0,1,1,1]
v_prng_b32 v1, v2
v_permlane16_swap_b32 v1, v2
v_permlane32_swap_b32 v1, v2
v_cvt_f32_bf16 v1, v2
v_cvt_pk_f16_f32 v1, v2, v3
v_cvt_pk_bf16_f32 v1, v2, v3
v_minimum3_f32 v1, v2, v3, v4
v_maximum3_f32 v1, -v2, |v3|, v4
v_mfma_f32_16x16x32_f16 a[0:3], v[2:5], v[2:5], a[0:3]
v_mfma_f32_32x32x16_f16 v[0:15], v[2:5], v[2:5], v[0:15]
v_cvt_scalef32_pk_fp8_f32 v0, v40, v80, v120
v_cvt_scalef32_pk_fp8_f32 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_bf8_f32 v0, v40, v80, v120
v_cvt_scalef32_pk_bf8_f32 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_fp8_f32 v0, v40, v80, v120
v_cvt_scalef32_sr_fp8_f32 v0, v40, v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_sr_fp8_f32 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_bf8_f32 v0, v40, v80, v120
v_cvt_scalef32_sr_bf8_f32 v0, v40, v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_sr_bf8_f32 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_f32_fp8 v[0:1], v40, v80
v_cvt_scalef32_pk_f32_fp8 v[0:1], v40, v80 op_sel:[1,0,0]
v_cvt_scalef32_pk_f32_bf8 v[0:1], v40, v80
v_cvt_scalef32_pk_f32_bf8 v[0:1], v40, v80 op_sel:[1,0,0]
v_cvt_scalef32_f32_fp8 v0, v40, v80
v_cvt_scalef32_f32_fp8 v0, v40, v80 op_sel:[1,1,0]
v_cvt_scalef32_f32_fp8 v0, v40, v80 op_sel:[0,1,0]
v_cvt_scalef32_f32_bf8 v0, v40, v80
v_cvt_scalef32_f32_bf8 v0, v40, v80 op_sel:[1,1,0]
v_cvt_scalef32_f32_bf8 v0, v40, v80 op_sel:[0,1,0]
v_cvt_scalef32_pk_fp4_f32 v0, v40, v80, v120
v_cvt_scalef32_pk_fp4_f32 v0, v40, v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_pk_fp4_f32 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_pk_fp4_f32 v0, v[40:41], v80, v120
v_cvt_scalef32_sr_pk_fp4_f32 v0, v[40:41], v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_sr_pk_fp4_f32 v0, v[40:41], v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_f32_fp4 v[0:1], v40, v80
v_cvt_scalef32_pk_f32_fp4 v[0:1], v40, v80 op_sel:[1,1,0]
v_cvt_scalef32_pk_f32_fp4 v[0:1], v40, v80 op_sel:[0,1,0]
v_cvt_scalef32_pk_fp8_f16 v0, v40, v80
v_cvt_scalef32_pk_fp8_f16 v0, v40, v80 op_sel:[0,0,1]
v_cvt_scalef32_pk_bf8_f16 v0, v40, v80
v_cvt_scalef32_pk_bf8_f16 v0, v40, v80 op_sel:[0,0,1]
v_cvt_scalef32_sr_fp8_f16 v0, v40, v80, v120
v_cvt_scalef32_sr_fp8_f16 v0, v40, v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_sr_fp8_f16 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_bf8_f16 v0, v40, v80, v120
v_cvt_scalef32_sr_bf8_f16 v0, v40, v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_sr_bf8_f16 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_fp8_bf16 v0, v40, v80
v_cvt_scalef32_pk_fp8_bf16 v0, v40, v80 op_sel:[0,0,1]
v_cvt_scalef32_pk_bf8_bf16 v0, v40, v80
v_cvt_scalef32_pk_bf8_bf16 v0, v40, v80 op_sel:[0,0,1]
v_cvt_scalef32_sr_fp8_bf16 v0, v40, v80, v120
v_cvt_scalef32_sr_fp8_bf16 v0, v40, v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_sr_fp8_bf16 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_bf8_bf16 v0, v40, v80, v120
v_cvt_scalef32_sr_bf8_bf16 v0, v40, v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_sr_bf8_bf16 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_f16_fp8 v0, v40, v80
v_cvt_scalef32_pk_f16_fp8 v0, v40, v80 op_sel:[1,0,0]
v_cvt_scalef32_pk_f16_bf8 v0, v40, v80
v_cvt_scalef32_pk_f16_bf8 v0, v40, v80 op_sel:[1,0,0]
v_cvt_scalef32_f16_fp8 v0, v40, v80
v_cvt_scalef32_f16_fp8 v0, v40, v80 op_sel:[0,0,1]
v_cvt_scalef32_f16_fp8 v0, v40, v80 op_sel:[1,1,0]
v_cvt_scalef32_f16_fp8 v0, v40, v80 op_sel:[0,1,0]
v_cvt_scalef32_f16_fp8 v0, v40, v80 op_sel:[1,1,1]
v_cvt_scalef32_f16_bf8 v0, v40, v80
v_cvt_scalef32_f16_bf8 v0, v40, v80 op_sel:[0,0,1]
v_cvt_scalef32_f16_bf8 v0, v40, v80 op_sel:[1,1,0]
v_cvt_scalef32_f16_bf8 v0, v40, v80 op_sel:[0,1,0]
v_cvt_scalef32_f16_bf8 v0, v40, v80 op_sel:[1,1,1]
v_cvt_scalef32_pk_fp4_f16 v0, v40, v80
v_cvt_scalef32_pk_fp4_f16 v0, v40, v80 op_sel:[0,0,1,0]
v_cvt_scalef32_pk_fp4_f16 v0, v40, v80 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_fp4_bf16 v0, v40, v80
v_cvt_scalef32_pk_fp4_bf16 v0, v40, v80 op_sel:[0,0,1,0]
v_cvt_scalef32_pk_fp4_bf16 v0, v40, v80 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_pk_fp4_f16 v0, v40, v80, v120
v_cvt_scalef32_sr_pk_fp4_f16 v0, v40, v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_sr_pk_fp4_f16 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_sr_pk_fp4_bf16 v0, v40, v80, v120
v_cvt_scalef32_sr_pk_fp4_bf16 v0, v40, v80, v120 op_sel:[0,0,1,0]
v_cvt_scalef32_sr_pk_fp4_bf16 v0, v40, v80, v120 op_sel:[0,0,0,1]
v_cvt_scalef32_pk_f16_fp4 v0, v40, v80
v_cvt_scalef32_pk_f16_fp4 v0, v40, v80 op_sel:[1,1,0]
v_cvt_scalef32_pk_f16_fp4 v0, v40, v80 op_sel:[0,1,0]
v_cvt_scalef32_pk_bf16_fp4 v0, v40, v80
v_cvt_scalef32_pk_bf16_fp4 v0, v40, v80 op_sel:[1,1,0]
v_cvt_scalef32_pk_bf16_fp4 v0, v40, v80 op_sel:[0,1,0]
v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[40:55], v[80:95], v120
v_cvt_scalef32_2xpk16_bf6_f32 v[0:5], v[40:55], v[80:95], v120
v_cvt_scalef32_sr_pk32_fp6_f32 v[0:5], v[40:71], v80, v120
v_cvt_scalef32_sr_pk32_bf6_f32 v[0:5], v[40:71], v80, v120
v_cvt_scalef32_pk32_f32_fp6 v[0:31], v[40:45], v80
v_cvt_scalef32_pk32_f32_bf6 v[0:31], v[40:45], v80
v_cvt_scalef32_pk32_fp6_f16 v[0:5], v[40:55], v80
v_cvt_scalef32_pk32_fp6_bf16 v[0:5], v[40:55], v80
v_cvt_scalef32_pk32_bf6_f16 v[0:5], v[40:55], v80
v_cvt_scalef32_pk32_bf6_bf16 v[0:5], v[40:55], v80
v_cvt_scalef32_sr_pk32_fp6_f16 v[0:5], v[40:55], v80, v120
v_cvt_scalef32_sr_pk32_fp6_bf16 v[0:5], v[40:55], v80, v120
v_cvt_scalef32_sr_pk32_bf6_f16 v[0:5], v[40:55], v80, v120
v_cvt_scalef32_sr_pk32_bf6_bf16 v[0:5], v[40:55], v80, v120
v_cvt_scalef32_pk32_f16_fp6 v[0:15], v[40:45], v80
v_cvt_scalef32_pk32_bf16_fp6 v[0:15], v[40:45], v80
v_cvt_scalef32_pk32_f16_bf6 v[0:15], v[40:45], v80
v_cvt_scalef32_pk32_bf16_bf6 v[0:15], v[40:45], v80
v_cvt_scalef32_pk_bf16_fp8 v0, v40, v80
v_cvt_scalef32_pk_bf16_fp8 v0, v40, v80 op_sel:[1,0,0]
v_cvt_scalef32_pk_bf16_bf8 v0, v40, v80
v_cvt_scalef32_pk_bf16_bf8 v0, v40, v80 op_sel:[1,0,0]
v_mfma_f32_16x16x32_bf16 v[0:3], v[40:43], v[60:63], v[100:103]
v_mfma_f32_16x16x32_bf16 a[0:3], a[40:43], v[60:63], 1.0
v_mfma_i32_16x16x64_i8 v[0:3], v[40:43], v[60:63], v[100:103]
v_mfma_i32_16x16x64_i8 a[0:3], a[40:43], v[60:63], 1.0
v_mfma_f32_32x32x16_bf16 v[0:15], v[40:43], v[60:63], v[100:115]
v_mfma_f32_32x32x16_bf16 a[0:15], a[40:43], v[60:63], 1.0
v_mfma_i32_32x32x32_i8 v[0:15], v[40:43], v[60:63], v[100:115]
v_mfma_i32_32x32x32_i8 a[0:15], a[40:43], v[60:63], 1.0
v_smfmac_f32_16x16x64_bf16 v[0:3], v[40:43], v[60:67], v90
v_smfmac_f32_16x16x64_bf16 a[0:3], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_i32_16x16x128_i8 v[0:3], v[40:43], v[60:67], v90
v_smfmac_i32_16x16x128_i8 a[0:3], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_16x16x128_bf8_bf8 v[0:3], v[40:43], v[60:67], v90
v_smfmac_f32_16x16x128_bf8_bf8 a[0:3], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_16x16x128_bf8_fp8 v[0:3], v[40:43], v[60:67], v90
v_smfmac_f32_16x16x128_bf8_fp8 a[0:3], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_16x16x128_fp8_bf8 v[0:3], v[40:43], v[60:67], v90
v_smfmac_f32_16x16x128_fp8_bf8 a[0:3], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_16x16x128_fp8_fp8 v[0:3], v[40:43], v[60:67], v90
v_smfmac_f32_16x16x128_fp8_fp8 a[0:3], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_32x32x32_bf16 v[0:15], v[40:43], v[60:67], v90
v_smfmac_f32_32x32x32_bf16 a[0:15], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_i32_32x32x64_i8 v[0:15], v[40:43], v[60:67], v90
v_smfmac_i32_32x32x64_i8 a[0:15], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_32x32x64_bf8_bf8 v[0:15], v[40:43], v[60:67], v90
v_smfmac_f32_32x32x64_bf8_bf8 a[0:15], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_32x32x64_bf8_fp8 v[0:15], v[40:43], v[60:67], v90
v_smfmac_f32_32x32x64_bf8_fp8 a[0:15], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_32x32x64_fp8_bf8 v[0:15], v[40:43], v[60:67], v90
v_smfmac_f32_32x32x64_fp8_bf8 a[0:15], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_32x32x64_fp8_fp8 v[0:15], v[40:43], v[60:67], v90
v_smfmac_f32_32x32x64_fp8_fp8 a[0:15], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_16x16x64_f16 v[0:3], v[40:43], v[60:67], v90
v_smfmac_f32_16x16x64_f16 a[0:3], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_smfmac_f32_32x32x32_f16 v[0:15], v[40:43], v[60:67], v90
v_smfmac_f32_32x32x32_f16 a[0:15], a[40:43], v[60:67], v90 cbsz:1 abid:1
v_prng_b32_e64 v1, v2
v_prng_b32 v1, s2
v_permlane16_swap_b32_e64 v1, v2
v_permlane16_swap_b32_e64 v1, v2 bound_ctrl:1 fi:1
v_permlane32_swap_b32_e64 v1, v2 bound_ctrl:1
v_permlane32_swap_b32_e64 v1, v2 fi:1
v_cvt_f32_bf16 v1, s2
v_cvt_f32_bf16 v1, 1.0
v_cvt_f32_bf16_sdwa v1, v2 src0_sel:WORD_1
v_cvt_f32_bf16_dpp v1, v2 quad_perm:[1,1,1,1]
v_cvt_f32_bf16_e64 v1, -v2
v_cvt_f32_bf16_e64 v1, |v2| clamp
v_dot2c_f32_bf16 v1, v2, v3
v_dot2c_f32_bf16 v1, s2, v3
v_dot2c_f32_bf16_e64 v1, v2, s3 clamp
v_dot2c_f32_bf16_dpp v1, v2, v3 row_shr:1
v_dot2_f32_bf16 v1, v2, v3, v4
v_dot2_f32_bf16 v1, v2, v3, v4 neg_lo:[1,0,0] neg_hi:[0,1,0]
v_dot2_f32_bf16 v1, v2, s3, v4 clamp
v_pk_minimum3_f16 v1, v2, v3, v4
v_pk_maximum3_f16 v1, v2, v3, v4 op_sel:[1,0,0] neg_lo:[1,0,0]
v_pk_maximum3_f16 v1, v2, s3, 1.0 op_sel_hi:[1,1,0] clamp
v_ashr_pk_i8_i32 v1, v2, v3, v4
v_ashr_pk_i8_i32 v1, v2, s3, v4 op_sel:[0,0,0,1]
v_ashr_pk_u8_i32 v1, v2, v3, 7
v_cvt_pk_bf16_f32 v1, -v2, |v3|
v_cvt_pk_bf16_f32 v1, v2, s3 clamp
v_cvt_pk_f16_f32 v1, -v2, 1.0
v_cvt_sr_f16_f32 v1, v2, v3
v_cvt_sr_f16_f32 v1, -v2, v3 op_sel:[0,0,1]
v_cvt_sr_bf16_f32 v1, v2, v3
v_cvt_sr_bf16_f32 v1, |v2|, s3 op_sel:[0,0,1]
v_minimum3_f32 v1, -v2, |v3|, 2.0
v_maximum3_f32 v1, v2, v3, s4 clamp
v_cvt_scalef32_pk_fp8_f32 v1, -v2, |v3|, 1.0
v_cvt_scalef32_pk_f32_fp8 v[2:3], s2, v3
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[20:23]
v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:17], v[20:23] cbsz:1 blgp:2
v_mfma_f32_16x16x128_f8f6f4 a[0:3], a[4:7], v[12:17], 1.0 cbsz:4 blgp:3
v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[20:25], v[26:29], v[0:15] cbsz:2 blgp:4
v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[20:23], v24, v25
v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], a[4:11], v[12:17], a[20:23], v24, v25 op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:1 blgp:2
v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[20:25], v[26:29], v[0:15], v64, v255 op_sel:[1,1,0] op_sel_hi:[1,1,0] cbsz:3 blgp:4
ds_read_b64_tr_b4 v[2:3], v0
ds_read_b64_tr_b8 v[2:3], v0 offset:65528
ds_read_b64_tr_b16 a[2:3], v0 offset:8
ds_read_b96_tr_b6 v[2:4], v0 offset:96
global_load_lds_dwordx4 v[2:3], off offset:16
global_load_lds_dwordx4 v2, s[4:5] offset:-16 sc0 nt sc1
global_load_lds_dwordx3 v2, s[4:5]
buffer_load_dwordx3 v2, s[8:11], s0 offen lds
buffer_load_dwordx4 v2, s[8:11], s0 idxen offset:16 nt lds
buffer_load_dwordx4 off, s[8:11], 0 lds
buffer_atomic_pk_add_bf16 v4, v2, s[8:11], s0 offen
buffer_atomic_pk_add_bf16 v4, v2, s[8:11], s0 idxen sc0
