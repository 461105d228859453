; Operand kinds, modifiers and encodings beyond the plain form of oracle_ops.s.

; scalar operands and constants
s_mov_b32 m0, exec_lo
s_mov_b32 vcc_hi, 0x12345678
s_mov_b64 exec, vcc
s_mov_b64 s[0:1], flat_scratch
s_mov_b64 s[0:1], xnack_mask
s_mov_b64 s[0:1], src_shared_base
s_mov_b64 s[0:1], src_private_limit
s_mov_b32 s0, src_scc
s_mov_b32 ttmp3, ttmp11
s_mov_b64 ttmp[4:5], 0.15915494309189532
s_add_u32 s0, 0x12345678, s1
s_add_u32 s0, s1, -16
s_add_u32 s0, 64, -4.0
s_cmp_lg_u32 s3, 0xdeadbeef
s_cmp_eq_u64 exec, 0
s_and_saveexec_b64 vcc, s[6:7]
s_or_b64 exec, exec, s[30:31]
s_load_dword s5, s[2:3], s0
s_load_dwordx2 s[6:7], s[2:3], s7 offset:0x12345
s_load_dwordx4 s[8:11], s[2:3], -0x4
s_load_dwordx8 s[8:15], s[2:3], 0x0 glc
s_load_dwordx16 s[16:31], s[4:5], 0xfffff
s_buffer_load_dwordx2 s[0:1], s[4:7], s9
s_store_dword s5, s[2:3], 0x8 glc
s_atomic_add s5, s[2:3], 0x0 glc
s_memtime vcc

; program control
s_nop 15
s_sleep 127
s_waitcnt vmcnt(0)
s_waitcnt lgkmcnt(0)
s_waitcnt vmcnt(62) expcnt(1)
s_waitcnt vmcnt(17) lgkmcnt(3)
s_branch 65534
s_cbranch_execz 100
s_sendmsg sendmsg(MSG_INTERRUPT)
s_trap 2
s_trap 200
s_setprio 3
s_getreg_b32 s3, hwreg(HW_REG_XCC_ID)
s_getreg_b32 s3, hwreg(HW_REG_HW_ID, 8, 4)
s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s3
s_set_gpr_idx_on m0, gpr_idx(DST)
s_set_gpr_idx_mode gpr_idx(SRC0,SRC1,SRC2,DST)
s_call_b64 s[30:31], 65535
s_movk_i32 s0, 0x8000
s_cmpk_lt_u32 s0, 0xffff

; VOP1, VOP2, VOPC and their VOP3 twins
v_mov_b32_e32 v255, s101
v_mov_b32_e32 v0, 0x3e22f984
v_mov_b32_e64 v0, src_vccz
v_mov_b64_e32 v[2:3], 0x12345678
v_mov_b64_e32 v[2:3], s[4:5]
v_readfirstlane_b32 vcc_lo, v3
v_cvt_f64_f32_e64 v[0:1], |v2|
v_rcp_f64_e64 v[0:1], -v[2:3]
v_add_f32_e32 v0, 0x40490fdb, v1
v_add_f32_e64 v0, -v1, |v2|
v_add_f32_e64 v0, -|v1|, s2 clamp
v_add_f32_e64 v0, v1, v2 mul:2
v_mul_f32_e64 v0, v1, 2.0 div:2
v_add_u32_e64 v0, v1, v2 clamp
v_add_f16_e32 v0, 0x1234, v1
v_fmac_f64_e32 v[0:1], v[2:3], v[4:5]
v_fmac_f64_e64 v[0:1], v[2:3], 2.0
v_fmac_f32_e32 v0, 0x40490fdb, v1
v_fmamk_f32 v0, 1.0, 0x40490fdb, v2
v_fmaak_f32 v0, 1.0, v1, 0x40490fdb
v_cndmask_b32_e64 v0, -v1, |v2|, s[4:5]
v_cndmask_b32_e64 v0, 0, 1, vcc
v_add_co_u32_e64 v0, s[2:3], v1, v2
v_addc_co_u32_e64 v0, vcc, v1, v2, s[4:5]
v_subbrev_co_u32_e32 v0, vcc, 0, v1, vcc
v_cmp_lt_f32_e64 s[2:3], |v1|, -v2
v_cmp_eq_u64_e64 vcc, v[2:3], s[4:5]
v_cmp_gt_f64_e32 vcc, 0.15915494309189532, v[2:3]
v_cmpx_ne_u32_e64 s[2:3], v1, v2
v_cmp_class_f64_e64 s[2:3], v[4:5], v6
v_mul_f16_e32 v0, 0.15915494, v1

; VOP3
v_fma_f32 v0, -v1, |v2|, -|v3| clamp
v_fma_f64 v[0:1], -v[2:3], s[4:5], 4.0
v_mad_u64_u32 v[0:1], s[2:3], v4, s5, v[6:7]
v_mad_i64_i32 v[0:1], vcc, v4, v5, 0
v_div_scale_f64 v[0:1], vcc, v[2:3], v[2:3], v[4:5]
v_div_scale_f32 v0, s[2:3], -v1, v2, v3
v_div_fmas_f32 v0, v1, v2, v3
v_lshl_add_u64 v[0:1], s[2:3], 3, v[4:5]
v_readlane_b32 s9, v3, m0
v_readlane_b32 s9, v3, 17
v_writelane_b32 v3, s9, 17
v_writelane_b32 v3, 5, m0
v_mbcnt_lo_u32_b32 v0, exec_lo, 0
v_mad_u16 v0, v1, v2, v3 op_sel:[1,0,1,1]
v_mad_u32_u16 v0, v1, v2, v3 op_sel:[1,1,0,0]
v_min3_f16 v0, -v1, |v2|, v3 op_sel:[0,1,0,1]
v_pack_b32_f16 v0, v1, v2 op_sel:[1,0,0]
v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]
v_cvt_sr_fp8_f32 v0, v1, v2 op_sel:[0,0,1,1]
v_cvt_sr_bf8_f32 v0, v1, v2 op_sel:[0,0,0,1]

; SDWA and DPP
v_add_u32_sdwa v1, sext(v2), v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:BYTE_0
v_add_f32_sdwa v1, -v2, |v3| clamp dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:DWORD
v_mov_b32_sdwa v1, v2 dst_sel:BYTE_2 dst_unused:UNUSED_SEXT src0_sel:WORD_1
v_addc_co_u32_sdwa v1, vcc, v2, v3, vcc dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD
v_cvt_f32_fp8_sdwa v1, v2 src0_sel:BYTE_3
v_cmp_lt_f32_sdwa s[2:3], v1, s2 src0_sel:BYTE_1 src1_sel:WORD_1
v_cmp_eq_u16_sdwa vcc, v1, v2 src0_sel:WORD_1 src1_sel:DWORD
v_mov_b32_dpp v1, v2 quad_perm:[1,2,3,0] row_mask:0xf bank_mask:0xa bound_ctrl:1
v_mov_b32_dpp v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v1, v2 row_shr:15 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v1, v2 row_ror:8 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v1, v2 wave_shl:1 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v1, v2 wave_rol:1 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v1, v2 wave_shr:1 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v1, v2 wave_ror:1 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v1, v2 row_mirror row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v1, v2 row_half_mirror row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v1, v2 row_bcast:15 row_mask:0xa bank_mask:0xf
v_mov_b32_dpp v1, v2 row_bcast:31 row_mask:0xc bank_mask:0xf
v_mov_b32_dpp v1, v2 row_newbcast:7 row_mask:0xf bank_mask:0xf
v_mov_b64_dpp v[2:3], v[4:5] row_newbcast:3 row_mask:0xf bank_mask:0xf
v_add_f32_dpp v1, -v2, |v3| row_shl:3 row_mask:0xf bank_mask:0xf
v_addc_co_u32_dpp v1, vcc, v2, v3, vcc wave_ror:1 row_mask:0xf bank_mask:0xf
v_mul_i32_i24_dpp v1, v2, v3 row_newbcast:0 row_mask:0x1 bank_mask:0x2

; packed and matrix
v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7] op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[1,0,0] neg_hi:[0,0,1]
v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[1,0]
v_pk_add_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1] clamp
v_pk_add_u16 v0, v1, -1 op_sel_hi:[1,0]
v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]
v_dot2_f32_f16 v0, v1, v2, v3 neg_lo:[1,0,0] clamp
v_dot4_i32_i8 v0, v1, s2, v3
v_fma_mix_f32 v0, -v1, |v2|, v3 op_sel:[1,0,0] op_sel_hi:[1,0,1]
v_fma_mixhi_f16 v0, v1, v2, v3 op_sel_hi:[1,1,0] clamp
v_accvgpr_read_b32 v0, a255
v_accvgpr_write_b32 a255, 1.0
v_accvgpr_mov_b32 a1, a2
v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[4:5], a[0:3] cbsz:1 abid:2 blgp:3
v_mfma_f32_32x32x8_f16 v[0:15], a[2:3], v[4:5], 0
v_mfma_f32_32x32x1_2b_f32 a[0:31], v2, a3, 1.0
v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7] neg:[1,0,0]
v_smfmac_f32_16x16x32_f16 a[0:3], v[4:5], v[8:11], v12 cbsz:1 abid:1

; memory
flat_load_dword v1, v[2:3] offset:4095 sc0 nt sc1
flat_store_dwordx4 v[2:3], a[4:7]
flat_atomic_add v[2:3], v4
flat_atomic_add v1, v[2:3], v4 offset:8 sc0
global_load_dwordx2 a[2:3], v2, s[2:3] offset:-8
global_load_dword v1, v[2:3], off offset:4095
global_store_byte v2, v3, s[4:5]
global_atomic_cmpswap_x2 v[0:1], v2, v[4:7], s[2:3] sc0 sc1
global_atomic_add_f64 v[2:3], v[4:5], off
global_load_lds_dword v[2:3], off
global_load_lds_dword v2, s[4:5] offset:16
scratch_load_dword v1, off, off
scratch_load_dword v1, v2, off offset:-4
scratch_load_dwordx2 v[0:1], off, s33 offset:4095
scratch_load_dword v1, v2, s3 sc0 nt sc1
scratch_store_dword off, a1, s3
scratch_store_dwordx3 v5, v[0:2], off
ds_read_b32 a1, v2 offset:65535
ds_read2_b64 v[0:3], v4 offset0:1 offset1:255
ds_write2st64_b32 v0, v1, v2 offset1:4
ds_write_b64 v1, a[2:3] offset:16
ds_cmpst_rtn_b32 v0, v1, v2, v3
ds_bpermute_b32 v0, v1, v2 offset:4
ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,0,1,2,3)
ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,"01pip")
ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)
ds_swizzle_b32 v0, v1 offset:swizzle(REVERSE,4)
ds_swizzle_b32 v0, v1 offset:swizzle(BROADCAST,8,3)
ds_swizzle_b32 v0, v1 offset:swizzle(ROTATE,1,3)
ds_gws_init v0 gds
buffer_load_dwordx4 a[4:7], v3, s[4:7], s8 offen offset:16 sc0 nt sc1
buffer_load_dword v1, off, s[4:7], 0
buffer_load_dword v1, v[2:3], s[4:7], 0 idxen offen
buffer_store_dword v1, v2, s[4:7], m0 idxen
buffer_atomic_add v1, off, s[4:7], 0 sc0
buffer_load_dword off, s[4:7], 0 lds
buffer_wbl2 sc0 sc1
buffer_inv sc1
