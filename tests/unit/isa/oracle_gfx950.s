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
