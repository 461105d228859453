; Every row of ops_alu.def and ops_mem.def once, in plain form. test_isa_decode.c checks that none is missing.

; SOP1
s_mov_b32 s8, s16
s_mov_b64 s[8:9], s[16:17]
s_cmov_b32 s8, s16
s_cmov_b64 s[8:9], s[16:17]
s_not_b32 s8, s16
s_not_b64 s[8:9], s[16:17]
s_wqm_b32 s8, s16
s_wqm_b64 s[8:9], s[16:17]
s_brev_b32 s8, s16
s_brev_b64 s[8:9], s[16:17]
s_bcnt0_i32_b32 s8, s16
s_bcnt0_i32_b64 s8, s[16:17]
s_bcnt1_i32_b32 s8, s16
s_bcnt1_i32_b64 s8, s[16:17]
s_ff0_i32_b32 s8, s16
s_ff0_i32_b64 s8, s[16:17]
s_ff1_i32_b32 s8, s16
s_ff1_i32_b64 s8, s[16:17]
s_flbit_i32_b32 s8, s16
s_flbit_i32_b64 s8, s[16:17]
s_flbit_i32 s8, s16
s_flbit_i32_i64 s8, s[16:17]
s_sext_i32_i8 s8, s16
s_sext_i32_i16 s8, s16
s_bitset0_b32 s8, s16
s_bitset0_b64 s[8:9], s16
s_bitset1_b32 s8, s16
s_bitset1_b64 s[8:9], s16
s_getpc_b64 s[8:9]
s_setpc_b64 s[8:9]
s_swappc_b64 s[8:9], s[16:17]
s_rfe_b64 s[8:9]
s_and_saveexec_b64 s[8:9], s[16:17]
s_or_saveexec_b64 s[8:9], s[16:17]
s_xor_saveexec_b64 s[8:9], s[16:17]
s_andn2_saveexec_b64 s[8:9], s[16:17]
s_orn2_saveexec_b64 s[8:9], s[16:17]
s_nand_saveexec_b64 s[8:9], s[16:17]
s_nor_saveexec_b64 s[8:9], s[16:17]
s_xnor_saveexec_b64 s[8:9], s[16:17]
s_quadmask_b32 s8, s16
s_quadmask_b64 s[8:9], s[16:17]
s_movrels_b32 s8, s16
s_movrels_b64 s[8:9], s[16:17]
s_movreld_b32 s8, s16
s_movreld_b64 s[8:9], s[16:17]
s_cbranch_join s8
s_abs_i32 s8, s16
s_set_gpr_idx_idx s3
s_andn1_saveexec_b64 s[8:9], s[16:17]
s_orn1_saveexec_b64 s[8:9], s[16:17]
s_andn1_wrexec_b64 s[8:9], s[16:17]
s_andn2_wrexec_b64 s[8:9], s[16:17]
s_bitreplicate_b64_b32 s[8:9], s16

; SOP2
s_add_u32 s8, s16, s24
s_sub_u32 s8, s16, s24
s_add_i32 s8, s16, s24
s_sub_i32 s8, s16, s24
s_addc_u32 s8, s16, s24
s_subb_u32 s8, s16, s24
s_min_i32 s8, s16, s24
s_min_u32 s8, s16, s24
s_max_i32 s8, s16, s24
s_max_u32 s8, s16, s24
s_cselect_b32 s8, s16, s24
s_cselect_b64 s[8:9], s[16:17], s[24:25]
s_and_b32 s8, s16, s24
s_and_b64 s[8:9], s[16:17], s[24:25]
s_or_b32 s8, s16, s24
s_or_b64 s[8:9], s[16:17], s[24:25]
s_xor_b32 s8, s16, s24
s_xor_b64 s[8:9], s[16:17], s[24:25]
s_andn2_b32 s8, s16, s24
s_andn2_b64 s[8:9], s[16:17], s[24:25]
s_orn2_b32 s8, s16, s24
s_orn2_b64 s[8:9], s[16:17], s[24:25]
s_nand_b32 s8, s16, s24
s_nand_b64 s[8:9], s[16:17], s[24:25]
s_nor_b32 s8, s16, s24
s_nor_b64 s[8:9], s[16:17], s[24:25]
s_xnor_b32 s8, s16, s24
s_xnor_b64 s[8:9], s[16:17], s[24:25]
s_lshl_b32 s8, s16, s24
s_lshl_b64 s[8:9], s[16:17], s24
s_lshr_b32 s8, s16, s24
s_lshr_b64 s[8:9], s[16:17], s24
s_ashr_i32 s8, s16, s24
s_ashr_i64 s[8:9], s[16:17], s24
s_bfm_b32 s8, s16, s24
s_bfm_b64 s[8:9], s16, s24
s_mul_i32 s8, s16, s24
s_bfe_u32 s8, s16, s24
s_bfe_i32 s8, s16, s24
s_bfe_u64 s[8:9], s[16:17], s24
s_bfe_i64 s[8:9], s[16:17], s24
s_cbranch_g_fork s[8:9], s[8:9]
s_absdiff_i32 s8, s16, s24
s_rfe_restore_b64 s[8:9], s3
s_mul_hi_u32 s8, s16, s24
s_mul_hi_i32 s8, s16, s24
s_lshl1_add_u32 s8, s16, s24
s_lshl2_add_u32 s8, s16, s24
s_lshl3_add_u32 s8, s16, s24
s_lshl4_add_u32 s8, s16, s24
s_pack_ll_b32_b16 s8, s16, s24
s_pack_lh_b32_b16 s8, s16, s24
s_pack_hh_b32_b16 s8, s16, s24

; SOPC
s_cmp_eq_i32 s16, s24
s_cmp_lg_i32 s16, s24
s_cmp_gt_i32 s16, s24
s_cmp_ge_i32 s16, s24
s_cmp_lt_i32 s16, s24
s_cmp_le_i32 s16, s24
s_cmp_eq_u32 s16, s24
s_cmp_lg_u32 s16, s24
s_cmp_gt_u32 s16, s24
s_cmp_ge_u32 s16, s24
s_cmp_lt_u32 s16, s24
s_cmp_le_u32 s16, s24
s_bitcmp0_b32 s16, s24
s_bitcmp1_b32 s16, s24
s_bitcmp0_b64 s[16:17], s24
s_bitcmp1_b64 s[16:17], s24
s_setvskip s16, s24
s_set_gpr_idx_on s16, gpr_idx(SRC0,DST)
s_cmp_eq_u64 s[16:17], s[24:25]
s_cmp_lg_u64 s[16:17], s[24:25]

; SOPK
s_movk_i32 s8, 0x1234
s_cmovk_i32 s8, 0x1234
s_cmpk_eq_i32 s8, 0x1234
s_cmpk_lg_i32 s8, 0x1234
s_cmpk_gt_i32 s8, 0x1234
s_cmpk_ge_i32 s8, 0x1234
s_cmpk_lt_i32 s8, 0x1234
s_cmpk_le_i32 s8, 0x1234
s_cmpk_eq_u32 s8, 0x1234
s_cmpk_lg_u32 s8, 0x1234
s_cmpk_gt_u32 s8, 0x1234
s_cmpk_ge_u32 s8, 0x1234
s_cmpk_lt_u32 s8, 0x1234
s_cmpk_le_u32 s8, 0x1234
s_addk_i32 s8, 0x1234
s_mulk_i32 s8, 0x1234
s_cbranch_i_fork s[8:9], 4660
s_getreg_b32 s8, hwreg(52, 8, 3)
s_setreg_b32 hwreg(52, 8, 3), s8
s_call_b64 s[8:9], 5

; SOPP
s_nop 0
s_endpgm
s_branch 0
s_wakeup
s_cbranch_scc0 0
s_cbranch_scc1 0
s_cbranch_vccz 0
s_cbranch_vccnz 0
s_cbranch_execz 0
s_cbranch_execnz 0
s_barrier
s_setkill 0
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
s_sethalt 0
s_sleep 0
s_setprio 0
s_sendmsg sendmsg(0, 0, 0)
s_sendmsghalt sendmsg(0, 0, 0)
s_trap 0
s_icache_inv
s_incperflevel 0
s_decperflevel 0
s_ttracedata
s_cbranch_cdbgsys 0
s_cbranch_cdbguser 0
s_cbranch_cdbgsys_or_user 0
s_cbranch_cdbgsys_and_user 0
s_endpgm_saved
s_set_gpr_idx_off
s_set_gpr_idx_mode gpr_idx()
s_endpgm_ordered_ps_done

; SMEM
s_load_dword s8, s[8:9], 0x10
s_load_dwordx2 s[8:9], s[8:9], 0x10
s_load_dwordx4 s[8:11], s[8:9], 0x10
s_load_dwordx8 s[8:15], s[8:9], 0x10
s_load_dwordx16 s[8:23], s[8:9], 0x10
s_scratch_load_dword s8, s[8:9], 0x10
s_scratch_load_dwordx2 s[8:9], s[8:9], 0x10
s_scratch_load_dwordx4 s[8:11], s[8:9], 0x10
s_buffer_load_dword s8, s[8:11], 0x10
s_buffer_load_dwordx2 s[8:9], s[8:11], 0x10
s_buffer_load_dwordx4 s[8:11], s[8:11], 0x10
s_buffer_load_dwordx8 s[8:15], s[8:11], 0x10
s_buffer_load_dwordx16 s[8:23], s[8:11], 0x10
s_store_dword s8, s[8:9], 0x10
s_store_dwordx2 s[8:9], s[8:9], 0x10
s_store_dwordx4 s[8:11], s[8:9], 0x10
s_scratch_store_dword s8, s[8:9], 0x10
s_scratch_store_dwordx2 s[8:9], s[8:9], 0x10
s_scratch_store_dwordx4 s[8:11], s[8:9], 0x10
s_buffer_store_dword s8, s[8:11], 0x10
s_buffer_store_dwordx2 s[8:9], s[8:11], 0x10
s_buffer_store_dwordx4 s[8:11], s[8:11], 0x10
s_atc_probe 8, s[8:9], 0x10
s_atomic_swap s8, s[8:9], 0x10
s_atomic_cmpswap s[8:9], s[8:9], 0x10
s_atomic_add s8, s[8:9], 0x10
s_atomic_sub s8, s[8:9], 0x10
s_atomic_smin s8, s[8:9], 0x10
s_atomic_umin s8, s[8:9], 0x10
s_atomic_smax s8, s[8:9], 0x10
s_atomic_umax s8, s[8:9], 0x10
s_atomic_and s8, s[8:9], 0x10
s_atomic_or s8, s[8:9], 0x10
s_atomic_xor s8, s[8:9], 0x10
s_atomic_inc s8, s[8:9], 0x10
s_atomic_dec s8, s[8:9], 0x10
s_atomic_swap_x2 s[8:9], s[8:9], 0x10
s_atomic_cmpswap_x2 s[8:11], s[8:9], 0x10
s_atomic_add_x2 s[8:9], s[8:9], 0x10
s_atomic_sub_x2 s[8:9], s[8:9], 0x10
s_atomic_smin_x2 s[8:9], s[8:9], 0x10
s_atomic_umin_x2 s[8:9], s[8:9], 0x10
s_atomic_smax_x2 s[8:9], s[8:9], 0x10
s_atomic_umax_x2 s[8:9], s[8:9], 0x10
s_atomic_and_x2 s[8:9], s[8:9], 0x10
s_atomic_or_x2 s[8:9], s[8:9], 0x10
s_atomic_xor_x2 s[8:9], s[8:9], 0x10
s_atomic_inc_x2 s[8:9], s[8:9], 0x10
s_atomic_dec_x2 s[8:9], s[8:9], 0x10

; VOP1
v_nop
v_mov_b32_e32 v8, v16
v_readfirstlane_b32 s8, v16
v_cvt_i32_f64_e32 v8, v[16:17]
v_cvt_f64_i32_e32 v[8:9], v16
v_cvt_f32_i32_e32 v8, v16
v_cvt_f32_u32_e32 v8, v16
v_cvt_u32_f32_e32 v8, v16
v_cvt_i32_f32_e32 v8, v16
v_cvt_f16_f32_e32 v8, v16
v_cvt_f32_f16_e32 v8, v16
v_cvt_rpi_i32_f32_e32 v8, v16
v_cvt_flr_i32_f32_e32 v8, v16
v_cvt_off_f32_i4_e32 v8, v16
v_cvt_f32_f64_e32 v8, v[16:17]
v_cvt_f64_f32_e32 v[8:9], v16
v_cvt_f32_ubyte0_e32 v8, v16
v_cvt_f32_ubyte1_e32 v8, v16
v_cvt_f32_ubyte2_e32 v8, v16
v_cvt_f32_ubyte3_e32 v8, v16
v_cvt_u32_f64_e32 v8, v[16:17]
v_cvt_f64_u32_e32 v[8:9], v16
v_trunc_f64_e32 v[8:9], v[16:17]
v_ceil_f64_e32 v[8:9], v[16:17]
v_rndne_f64_e32 v[8:9], v[16:17]
v_floor_f64_e32 v[8:9], v[16:17]
v_fract_f32_e32 v8, v16
v_trunc_f32_e32 v8, v16
v_ceil_f32_e32 v8, v16
v_rndne_f32_e32 v8, v16
v_floor_f32_e32 v8, v16
v_exp_f32_e32 v8, v16
v_log_f32_e32 v8, v16
v_rcp_f32_e32 v8, v16
v_rcp_iflag_f32_e32 v8, v16
v_rsq_f32_e32 v8, v16
v_rcp_f64_e32 v[8:9], v[16:17]
v_rsq_f64_e32 v[8:9], v[16:17]
v_sqrt_f32_e32 v8, v16
v_sqrt_f64_e32 v[8:9], v[16:17]
v_sin_f32_e32 v8, v16
v_cos_f32_e32 v8, v16
v_not_b32_e32 v8, v16
v_bfrev_b32_e32 v8, v16
v_ffbh_u32_e32 v8, v16
v_ffbl_b32_e32 v8, v16
v_ffbh_i32_e32 v8, v16
v_frexp_exp_i32_f64_e32 v8, v[16:17]
v_frexp_mant_f64_e32 v[8:9], v[16:17]
v_fract_f64_e32 v[8:9], v[16:17]
v_frexp_exp_i32_f32_e32 v8, v16
v_frexp_mant_f32_e32 v8, v16
v_clrexcp
v_screen_partition_4se_b32_e32 v8, v16
v_mov_b64_e32 v[8:9], v[16:17]
v_cvt_f16_u16_e32 v8, v16
v_cvt_f16_i16_e32 v8, v16
v_cvt_u16_f16_e32 v8, v16
v_cvt_i16_f16_e32 v8, v16
v_rcp_f16_e32 v8, v16
v_sqrt_f16_e32 v8, v16
v_rsq_f16_e32 v8, v16
v_log_f16_e32 v8, v16
v_exp_f16_e32 v8, v16
v_frexp_mant_f16_e32 v8, v16
v_frexp_exp_i16_f16_e32 v8, v16
v_floor_f16_e32 v8, v16
v_ceil_f16_e32 v8, v16
v_trunc_f16_e32 v8, v16
v_rndne_f16_e32 v8, v16
v_fract_f16_e32 v8, v16
v_sin_f16_e32 v8, v16
v_cos_f16_e32 v8, v16
v_exp_legacy_f32_e32 v8, v16
v_log_legacy_f32_e32 v8, v16
v_cvt_norm_i16_f16_e32 v8, v16
v_cvt_norm_u16_f16_e32 v8, v16
v_sat_pk_u8_i16_e32 v8, v16
v_swap_b32 v8, v16
v_accvgpr_mov_b32 a8, a16
v_cvt_f32_fp8_e32 v8, v16
v_cvt_f32_bf8_e32 v8, v16
v_cvt_pk_f32_fp8_e32 v[8:9], v16
v_cvt_pk_f32_bf8_e32 v[8:9], v16

; VOP2
v_cndmask_b32_e32 v8, v16, v24, vcc
v_add_f32_e32 v8, v16, v24
v_sub_f32_e32 v8, v16, v24
v_subrev_f32_e32 v8, v16, v24
v_fmac_f64_e32 v[8:9], v[16:17], v[24:25]
v_mul_f32_e32 v8, v16, v24
v_mul_i32_i24_e32 v8, v16, v24
v_mul_hi_i32_i24_e32 v8, v16, v24
v_mul_u32_u24_e32 v8, v16, v24
v_mul_hi_u32_u24_e32 v8, v16, v24
v_min_f32_e32 v8, v16, v24
v_max_f32_e32 v8, v16, v24
v_min_i32_e32 v8, v16, v24
v_max_i32_e32 v8, v16, v24
v_min_u32_e32 v8, v16, v24
v_max_u32_e32 v8, v16, v24
v_lshrrev_b32_e32 v8, v16, v24
v_ashrrev_i32_e32 v8, v16, v24
v_lshlrev_b32_e32 v8, v16, v24
v_and_b32_e32 v8, v16, v24
v_or_b32_e32 v8, v16, v24
v_xor_b32_e32 v8, v16, v24
v_fmamk_f32 v8, v16, 0x1234, v24
v_fmaak_f32 v8, v16, v24, 0x1234
v_add_co_u32_e32 v8, vcc, v16, v24
v_sub_co_u32_e32 v8, vcc, v16, v24
v_subrev_co_u32_e32 v8, vcc, v16, v24
v_addc_co_u32_e32 v8, vcc, v16, v24, vcc
v_subb_co_u32_e32 v8, vcc, v16, v24, vcc
v_subbrev_co_u32_e32 v8, vcc, v16, v24, vcc
v_add_f16_e32 v8, v16, v24
v_sub_f16_e32 v8, v16, v24
v_subrev_f16_e32 v8, v16, v24
v_mul_f16_e32 v8, v16, v24
v_mac_f16_e32 v8, v16, v24
v_madmk_f16 v8, v16, 0x1234, v24
v_madak_f16 v8, v16, v24, 0x1234
v_add_u16_e32 v8, v16, v24
v_sub_u16_e32 v8, v16, v24
v_subrev_u16_e32 v8, v16, v24
v_mul_lo_u16_e32 v8, v16, v24
v_lshlrev_b16_e32 v8, v16, v24
v_lshrrev_b16_e32 v8, v16, v24
v_ashrrev_i16_e32 v8, v16, v24
v_max_f16_e32 v8, v16, v24
v_min_f16_e32 v8, v16, v24
v_max_u16_e32 v8, v16, v24
v_max_i16_e32 v8, v16, v24
v_min_u16_e32 v8, v16, v24
v_min_i16_e32 v8, v16, v24
v_ldexp_f16_e32 v8, v16, v24
v_add_u32_e32 v8, v16, v24
v_sub_u32_e32 v8, v16, v24
v_subrev_u32_e32 v8, v16, v24
v_dot2c_f32_f16_e32 v8, v16, v24
v_dot2c_i32_i16_e32 v8, v16, v24
v_dot4c_i32_i8_e32 v8, v16, v24
v_dot8c_i32_i4_e32 v8, v16, v24
v_fmac_f32_e32 v8, v16, v24
v_pk_fmac_f16_e32 v8, v16, v24
v_xnor_b32_e32 v8, v16, v24

; VOPC
v_cmp_class_f32_e32 vcc, v16, v24
v_cmpx_class_f32_e32 vcc, v16, v24
v_cmp_class_f64_e32 vcc, v[16:17], v24
v_cmpx_class_f64_e32 vcc, v[16:17], v24
v_cmp_class_f16_e32 vcc, v16, v24
v_cmpx_class_f16_e32 vcc, v16, v24
v_cmp_f_f16_e32 vcc, v16, v24
v_cmp_lt_f16_e32 vcc, v16, v24
v_cmp_eq_f16_e32 vcc, v16, v24
v_cmp_le_f16_e32 vcc, v16, v24
v_cmp_gt_f16_e32 vcc, v16, v24
v_cmp_lg_f16_e32 vcc, v16, v24
v_cmp_ge_f16_e32 vcc, v16, v24
v_cmp_o_f16_e32 vcc, v16, v24
v_cmp_u_f16_e32 vcc, v16, v24
v_cmp_nge_f16_e32 vcc, v16, v24
v_cmp_nlg_f16_e32 vcc, v16, v24
v_cmp_ngt_f16_e32 vcc, v16, v24
v_cmp_nle_f16_e32 vcc, v16, v24
v_cmp_neq_f16_e32 vcc, v16, v24
v_cmp_nlt_f16_e32 vcc, v16, v24
v_cmp_tru_f16_e32 vcc, v16, v24
v_cmpx_f_f16_e32 vcc, v16, v24
v_cmpx_lt_f16_e32 vcc, v16, v24
v_cmpx_eq_f16_e32 vcc, v16, v24
v_cmpx_le_f16_e32 vcc, v16, v24
v_cmpx_gt_f16_e32 vcc, v16, v24
v_cmpx_lg_f16_e32 vcc, v16, v24
v_cmpx_ge_f16_e32 vcc, v16, v24
v_cmpx_o_f16_e32 vcc, v16, v24
v_cmpx_u_f16_e32 vcc, v16, v24
v_cmpx_nge_f16_e32 vcc, v16, v24
v_cmpx_nlg_f16_e32 vcc, v16, v24
v_cmpx_ngt_f16_e32 vcc, v16, v24
v_cmpx_nle_f16_e32 vcc, v16, v24
v_cmpx_neq_f16_e32 vcc, v16, v24
v_cmpx_nlt_f16_e32 vcc, v16, v24
v_cmpx_tru_f16_e32 vcc, v16, v24
v_cmp_f_f32_e32 vcc, v16, v24
v_cmp_lt_f32_e32 vcc, v16, v24
v_cmp_eq_f32_e32 vcc, v16, v24
v_cmp_le_f32_e32 vcc, v16, v24
v_cmp_gt_f32_e32 vcc, v16, v24
v_cmp_lg_f32_e32 vcc, v16, v24
v_cmp_ge_f32_e32 vcc, v16, v24
v_cmp_o_f32_e32 vcc, v16, v24
v_cmp_u_f32_e32 vcc, v16, v24
v_cmp_nge_f32_e32 vcc, v16, v24
v_cmp_nlg_f32_e32 vcc, v16, v24
v_cmp_ngt_f32_e32 vcc, v16, v24
v_cmp_nle_f32_e32 vcc, v16, v24
v_cmp_neq_f32_e32 vcc, v16, v24
v_cmp_nlt_f32_e32 vcc, v16, v24
v_cmp_tru_f32_e32 vcc, v16, v24
v_cmpx_f_f32_e32 vcc, v16, v24
v_cmpx_lt_f32_e32 vcc, v16, v24
v_cmpx_eq_f32_e32 vcc, v16, v24
v_cmpx_le_f32_e32 vcc, v16, v24
v_cmpx_gt_f32_e32 vcc, v16, v24
v_cmpx_lg_f32_e32 vcc, v16, v24
v_cmpx_ge_f32_e32 vcc, v16, v24
v_cmpx_o_f32_e32 vcc, v16, v24
v_cmpx_u_f32_e32 vcc, v16, v24
v_cmpx_nge_f32_e32 vcc, v16, v24
v_cmpx_nlg_f32_e32 vcc, v16, v24
v_cmpx_ngt_f32_e32 vcc, v16, v24
v_cmpx_nle_f32_e32 vcc, v16, v24
v_cmpx_neq_f32_e32 vcc, v16, v24
v_cmpx_nlt_f32_e32 vcc, v16, v24
v_cmpx_tru_f32_e32 vcc, v16, v24
v_cmp_f_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_lt_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_eq_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_le_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_gt_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_lg_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_ge_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_o_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_u_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_nge_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_nlg_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_ngt_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_nle_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_neq_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_nlt_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_tru_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_f_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_lt_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_eq_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_le_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_gt_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_lg_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_ge_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_o_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_u_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_nge_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_nlg_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_ngt_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_nle_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_neq_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_nlt_f64_e32 vcc, v[16:17], v[24:25]
v_cmpx_tru_f64_e32 vcc, v[16:17], v[24:25]
v_cmp_f_i16_e32 vcc, v16, v24
v_cmp_lt_i16_e32 vcc, v16, v24
v_cmp_eq_i16_e32 vcc, v16, v24
v_cmp_le_i16_e32 vcc, v16, v24
v_cmp_gt_i16_e32 vcc, v16, v24
v_cmp_ne_i16_e32 vcc, v16, v24
v_cmp_ge_i16_e32 vcc, v16, v24
v_cmp_t_i16_e32 vcc, v16, v24
v_cmp_f_u16_e32 vcc, v16, v24
v_cmp_lt_u16_e32 vcc, v16, v24
v_cmp_eq_u16_e32 vcc, v16, v24
v_cmp_le_u16_e32 vcc, v16, v24
v_cmp_gt_u16_e32 vcc, v16, v24
v_cmp_ne_u16_e32 vcc, v16, v24
v_cmp_ge_u16_e32 vcc, v16, v24
v_cmp_t_u16_e32 vcc, v16, v24
v_cmpx_f_i16_e32 vcc, v16, v24
v_cmpx_lt_i16_e32 vcc, v16, v24
v_cmpx_eq_i16_e32 vcc, v16, v24
v_cmpx_le_i16_e32 vcc, v16, v24
v_cmpx_gt_i16_e32 vcc, v16, v24
v_cmpx_ne_i16_e32 vcc, v16, v24
v_cmpx_ge_i16_e32 vcc, v16, v24
v_cmpx_t_i16_e32 vcc, v16, v24
v_cmpx_f_u16_e32 vcc, v16, v24
v_cmpx_lt_u16_e32 vcc, v16, v24
v_cmpx_eq_u16_e32 vcc, v16, v24
v_cmpx_le_u16_e32 vcc, v16, v24
v_cmpx_gt_u16_e32 vcc, v16, v24
v_cmpx_ne_u16_e32 vcc, v16, v24
v_cmpx_ge_u16_e32 vcc, v16, v24
v_cmpx_t_u16_e32 vcc, v16, v24
v_cmp_f_i32_e32 vcc, v16, v24
v_cmp_lt_i32_e32 vcc, v16, v24
v_cmp_eq_i32_e32 vcc, v16, v24
v_cmp_le_i32_e32 vcc, v16, v24
v_cmp_gt_i32_e32 vcc, v16, v24
v_cmp_ne_i32_e32 vcc, v16, v24
v_cmp_ge_i32_e32 vcc, v16, v24
v_cmp_t_i32_e32 vcc, v16, v24
v_cmp_f_u32_e32 vcc, v16, v24
v_cmp_lt_u32_e32 vcc, v16, v24
v_cmp_eq_u32_e32 vcc, v16, v24
v_cmp_le_u32_e32 vcc, v16, v24
v_cmp_gt_u32_e32 vcc, v16, v24
v_cmp_ne_u32_e32 vcc, v16, v24
v_cmp_ge_u32_e32 vcc, v16, v24
v_cmp_t_u32_e32 vcc, v16, v24
v_cmpx_f_i32_e32 vcc, v16, v24
v_cmpx_lt_i32_e32 vcc, v16, v24
v_cmpx_eq_i32_e32 vcc, v16, v24
v_cmpx_le_i32_e32 vcc, v16, v24
v_cmpx_gt_i32_e32 vcc, v16, v24
v_cmpx_ne_i32_e32 vcc, v16, v24
v_cmpx_ge_i32_e32 vcc, v16, v24
v_cmpx_t_i32_e32 vcc, v16, v24
v_cmpx_f_u32_e32 vcc, v16, v24
v_cmpx_lt_u32_e32 vcc, v16, v24
v_cmpx_eq_u32_e32 vcc, v16, v24
v_cmpx_le_u32_e32 vcc, v16, v24
v_cmpx_gt_u32_e32 vcc, v16, v24
v_cmpx_ne_u32_e32 vcc, v16, v24
v_cmpx_ge_u32_e32 vcc, v16, v24
v_cmpx_t_u32_e32 vcc, v16, v24
v_cmp_f_i64_e32 vcc, v[16:17], v[24:25]
v_cmp_lt_i64_e32 vcc, v[16:17], v[24:25]
v_cmp_eq_i64_e32 vcc, v[16:17], v[24:25]
v_cmp_le_i64_e32 vcc, v[16:17], v[24:25]
v_cmp_gt_i64_e32 vcc, v[16:17], v[24:25]
v_cmp_ne_i64_e32 vcc, v[16:17], v[24:25]
v_cmp_ge_i64_e32 vcc, v[16:17], v[24:25]
v_cmp_t_i64_e32 vcc, v[16:17], v[24:25]
v_cmp_f_u64_e32 vcc, v[16:17], v[24:25]
v_cmp_lt_u64_e32 vcc, v[16:17], v[24:25]
v_cmp_eq_u64_e32 vcc, v[16:17], v[24:25]
v_cmp_le_u64_e32 vcc, v[16:17], v[24:25]
v_cmp_gt_u64_e32 vcc, v[16:17], v[24:25]
v_cmp_ne_u64_e32 vcc, v[16:17], v[24:25]
v_cmp_ge_u64_e32 vcc, v[16:17], v[24:25]
v_cmp_t_u64_e32 vcc, v[16:17], v[24:25]
v_cmpx_f_i64_e32 vcc, v[16:17], v[24:25]
v_cmpx_lt_i64_e32 vcc, v[16:17], v[24:25]
v_cmpx_eq_i64_e32 vcc, v[16:17], v[24:25]
v_cmpx_le_i64_e32 vcc, v[16:17], v[24:25]
v_cmpx_gt_i64_e32 vcc, v[16:17], v[24:25]
v_cmpx_ne_i64_e32 vcc, v[16:17], v[24:25]
v_cmpx_ge_i64_e32 vcc, v[16:17], v[24:25]
v_cmpx_t_i64_e32 vcc, v[16:17], v[24:25]
v_cmpx_f_u64_e32 vcc, v[16:17], v[24:25]
v_cmpx_lt_u64_e32 vcc, v[16:17], v[24:25]
v_cmpx_eq_u64_e32 vcc, v[16:17], v[24:25]
v_cmpx_le_u64_e32 vcc, v[16:17], v[24:25]
v_cmpx_gt_u64_e32 vcc, v[16:17], v[24:25]
v_cmpx_ne_u64_e32 vcc, v[16:17], v[24:25]
v_cmpx_ge_u64_e32 vcc, v[16:17], v[24:25]
v_cmpx_t_u64_e32 vcc, v[16:17], v[24:25]

; VOP3
v_mad_i32_i24 v8, v16, v24, v32
v_mad_u32_u24 v8, v16, v24, v32
v_cubeid_f32 v8, v16, v24, v32
v_cubesc_f32 v8, v16, v24, v32
v_cubetc_f32 v8, v16, v24, v32
v_cubema_f32 v8, v16, v24, v32
v_bfe_u32 v8, v16, v24, v32
v_bfe_i32 v8, v16, v24, v32
v_bfi_b32 v8, v16, v24, v32
v_fma_f32 v8, v16, v24, v32
v_fma_f64 v[8:9], v[16:17], v[24:25], v[32:33]
v_lerp_u8 v8, v16, v24, v32
v_alignbit_b32 v8, v16, v24, v32
v_alignbyte_b32 v8, v16, v24, v32
v_min3_f32 v8, v16, v24, v32
v_min3_i32 v8, v16, v24, v32
v_min3_u32 v8, v16, v24, v32
v_max3_f32 v8, v16, v24, v32
v_max3_i32 v8, v16, v24, v32
v_max3_u32 v8, v16, v24, v32
v_med3_f32 v8, v16, v24, v32
v_med3_i32 v8, v16, v24, v32
v_med3_u32 v8, v16, v24, v32
v_sad_u8 v8, v16, v24, v32
v_sad_hi_u8 v8, v16, v24, v32
v_sad_u16 v8, v16, v24, v32
v_sad_u32 v8, v16, v24, v32
v_cvt_pk_u8_f32 v8, v16, v24, v32
v_div_fixup_f32 v8, v16, v24, v32
v_div_fixup_f64 v[8:9], v[16:17], v[24:25], v[32:33]
v_div_scale_f32 v8, s[0:1], v16, v24, v32
v_div_scale_f64 v[8:9], s[0:1], v[16:17], v[24:25], v[32:33]
v_div_fmas_f32 v8, v16, v24, v32
v_div_fmas_f64 v[8:9], v[16:17], v[24:25], v[32:33]
v_msad_u8 v8, v16, v24, v32
v_qsad_pk_u16_u8 v[8:9], v[16:17], v24, v[32:33]
v_mqsad_pk_u16_u8 v[8:9], v[16:17], v24, v[32:33]
v_mqsad_u32_u8 v[8:11], v[16:17], v24, v[32:35]
v_mad_u64_u32 v[8:9], s[0:1], v16, v24, v[32:33]
v_mad_i64_i32 v[8:9], s[0:1], v16, v24, v[32:33]
v_mad_legacy_f16 v8, v16, v24, v32
v_mad_legacy_u16 v8, v16, v24, v32
v_mad_legacy_i16 v8, v16, v24, v32
v_perm_b32 v8, v16, v24, v32
v_fma_legacy_f16 v8, v16, v24, v32
v_div_fixup_legacy_f16 v8, v16, v24, v32
v_cvt_pkaccum_u8_f32 v8, v16, s0
v_mad_u32_u16 v8, v16, v24, v32
v_mad_i32_i16 v8, v16, v24, v32
v_xad_u32 v8, v16, v24, v32
v_min3_f16 v8, v16, v24, v32
v_min3_i16 v8, v16, v24, v32
v_min3_u16 v8, v16, v24, v32
v_max3_f16 v8, v16, v24, v32
v_max3_i16 v8, v16, v24, v32
v_max3_u16 v8, v16, v24, v32
v_med3_f16 v8, v16, v24, v32
v_med3_i16 v8, v16, v24, v32
v_med3_u16 v8, v16, v24, v32
v_lshl_add_u32 v8, v16, v24, v32
v_add_lshl_u32 v8, v16, v24, v32
v_add3_u32 v8, v16, v24, v32
v_lshl_or_b32 v8, v16, v24, v32
v_and_or_b32 v8, v16, v24, v32
v_or3_b32 v8, v16, v24, v32
v_mad_f16 v8, v16, v24, v32
v_mad_u16 v8, v16, v24, v32
v_mad_i16 v8, v16, v24, v32
v_fma_f16 v8, v16, v24, v32
v_div_fixup_f16 v8, v16, v24, v32
v_lshl_add_u64 v[8:9], v[16:17], v24, v[32:33]
v_add_f64 v[8:9], v[16:17], s[0:1]
v_mul_f64 v[8:9], v[16:17], s[0:1]
v_min_f64 v[8:9], v[16:17], s[0:1]
v_max_f64 v[8:9], v[16:17], s[0:1]
v_ldexp_f64 v[8:9], v[16:17], s0
v_mul_lo_u32 v8, v16, s0
v_mul_hi_u32 v8, v16, s0
v_mul_hi_i32 v8, v16, s0
v_ldexp_f32 v8, v16, s0
v_readlane_b32 s8, v16, s0
v_writelane_b32 v8, s0, s0
v_bcnt_u32_b32 v8, v16, s0
v_mbcnt_lo_u32_b32 v8, v16, s0
v_mbcnt_hi_u32_b32 v8, v16, s0
v_lshlrev_b64 v[8:9], v16, s[0:1]
v_lshrrev_b64 v[8:9], v16, s[0:1]
v_ashrrev_i64 v[8:9], v16, s[0:1]
v_trig_preop_f64 v[8:9], v[16:17], s0
v_bfm_b32 v8, v16, s0
v_cvt_pknorm_i16_f32 v8, v16, s0
v_cvt_pknorm_u16_f32 v8, v16, s0
v_cvt_pkrtz_f16_f32 v8, v16, s0
v_cvt_pk_u16_u32 v8, v16, s0
v_cvt_pk_i16_i32 v8, v16, s0
v_cvt_pknorm_i16_f16 v8, v16, s0
v_cvt_pknorm_u16_f16 v8, v16, s0
v_add_i32 v8, v16, s0
v_sub_i32 v8, v16, s0
v_add_i16 v8, v16, s0
v_sub_i16 v8, v16, s0
v_pack_b32_f16 v8, v16, s0
v_mul_legacy_f32 v8, v16, s0
v_cvt_pk_fp8_f32 v8, v16, s0
v_cvt_pk_bf8_f32 v8, v16, s0
v_cvt_sr_fp8_f32 v8, v16, s0
v_cvt_sr_bf8_f32 v8, v16, s0

; VOP3P
v_pk_mad_i16 v32, v64, v96, v128 op_sel_hi:[0,0,0]
v_pk_mul_lo_u16 v32, v64, v96
v_pk_add_i16 v32, v64, v96
v_pk_sub_i16 v32, v64, v96
v_pk_lshlrev_b16 v32, v64, v96
v_pk_lshrrev_b16 v32, v64, v96
v_pk_ashrrev_i16 v32, v64, v96
v_pk_max_i16 v32, v64, v96
v_pk_min_i16 v32, v64, v96
v_pk_mad_u16 v32, v64, v96, v128 op_sel_hi:[0,0,0]
v_pk_add_u16 v32, v64, v96
v_pk_sub_u16 v32, v64, v96
v_pk_max_u16 v32, v64, v96
v_pk_min_u16 v32, v64, v96
v_pk_fma_f16 v32, v64, v96, v128 op_sel_hi:[0,0,0]
v_pk_add_f16 v32, v64, v96
v_pk_mul_f16 v32, v64, v96
v_pk_min_f16 v32, v64, v96
v_pk_max_f16 v32, v64, v96
v_fma_mix_f32 v32, v64, v96, v128
v_fma_mixlo_f16 v32, v64, v96, v128
v_fma_mixhi_f16 v32, v64, v96, v128
v_dot2_f32_f16 v32, v64, v96, v128
v_dot2_i32_i16 v32, v64, v96, v128
v_dot2_u32_u16 v32, v64, v96, v128
v_dot4_i32_i8 v32, v64, v96, v128
v_dot4_u32_u8 v32, v64, v96, v128
v_dot8_i32_i4 v32, v64, v96, v128
v_dot8_u32_u4 v32, v64, v96, v128
v_pk_fma_f32 v[32:33], v[64:65], v[96:97], v[128:129] op_sel_hi:[0,0,0]
v_pk_mul_f32 v[32:33], v[64:65], v[96:97]
v_pk_add_f32 v[32:33], v[64:65], v[96:97]
v_pk_mov_b32 v[32:33], v[64:65], v[96:97]
v_mfma_f32_16x16x8_xf32 v[32:35], v[64:65], v[96:97], v[128:131]
v_mfma_f32_32x32x4_xf32 v[32:47], v[64:65], v[96:97], v[128:143]
v_mfma_f32_32x32x1_2b_f32 v[32:63], v64, v96, v[128:159]
v_mfma_f32_16x16x1_4b_f32 v[32:47], v64, v96, v[128:143]
v_mfma_f32_4x4x1_16b_f32 v[32:35], v64, v96, v[128:131]
v_mfma_f32_32x32x2_f32 v[32:47], v64, v96, v[128:143]
v_mfma_f32_16x16x4_f32 v[32:35], v64, v96, v[128:131]
v_mfma_f32_32x32x4_2b_f16 v[32:63], v[64:65], v[96:97], v[128:159]
v_mfma_f32_16x16x4_4b_f16 v[32:47], v[64:65], v[96:97], v[128:143]
v_mfma_f32_4x4x4_16b_f16 v[32:35], v[64:65], v[96:97], v[128:131]
v_mfma_f32_32x32x8_f16 v[32:47], v[64:65], v[96:97], v[128:143]
v_mfma_f32_16x16x16_f16 v[32:35], v[64:65], v[96:97], v[128:131]
v_mfma_i32_32x32x4_2b_i8 v[32:63], v64, v96, v[128:159]
v_mfma_i32_16x16x4_4b_i8 v[32:47], v64, v96, v[128:143]
v_mfma_i32_4x4x4_16b_i8 v[32:35], v64, v96, v[128:131]
v_mfma_i32_32x32x16_i8 v[32:47], v[64:65], v[96:97], v[128:143]
v_mfma_i32_16x16x32_i8 v[32:35], v[64:65], v[96:97], v[128:131]
v_accvgpr_read_b32 v32, a64
v_accvgpr_write_b32 a32, v64
v_mfma_f32_32x32x4_2b_bf16 v[32:63], v[64:65], v[96:97], v[128:159]
v_mfma_f32_16x16x4_4b_bf16 v[32:47], v[64:65], v[96:97], v[128:143]
v_mfma_f32_4x4x4_16b_bf16 v[32:35], v[64:65], v[96:97], v[128:131]
v_mfma_f32_32x32x8_bf16 v[32:47], v[64:65], v[96:97], v[128:143]
v_mfma_f32_16x16x16_bf16 v[32:35], v[64:65], v[96:97], v[128:131]
v_smfmac_f32_16x16x32_f16 v[32:35], v[64:65], v[96:99], v128
v_smfmac_f32_32x32x16_f16 v[32:47], v[64:65], v[96:99], v128
v_smfmac_f32_16x16x32_bf16 v[32:35], v[64:65], v[96:99], v128
v_smfmac_f32_32x32x16_bf16 v[32:47], v[64:65], v[96:99], v128
v_smfmac_i32_16x16x64_i8 v[32:35], v[64:65], v[96:99], v128
v_smfmac_i32_32x32x32_i8 v[32:47], v[64:65], v[96:99], v128
v_mfma_f64_16x16x4_f64 v[32:39], v[64:65], v[96:97], v[128:135]
v_mfma_f64_4x4x4_4b_f64 v[32:33], v[64:65], v[96:97], v[128:129]
v_mfma_f32_16x16x32_bf8_bf8 v[32:35], v[64:65], v[96:97], v[128:131]
v_mfma_f32_16x16x32_bf8_fp8 v[32:35], v[64:65], v[96:97], v[128:131]
v_mfma_f32_16x16x32_fp8_bf8 v[32:35], v[64:65], v[96:97], v[128:131]
v_mfma_f32_16x16x32_fp8_fp8 v[32:35], v[64:65], v[96:97], v[128:131]
v_mfma_f32_32x32x16_bf8_bf8 v[32:47], v[64:65], v[96:97], v[128:143]
v_mfma_f32_32x32x16_bf8_fp8 v[32:47], v[64:65], v[96:97], v[128:143]
v_mfma_f32_32x32x16_fp8_bf8 v[32:47], v[64:65], v[96:97], v[128:143]
v_mfma_f32_32x32x16_fp8_fp8 v[32:47], v[64:65], v[96:97], v[128:143]
v_smfmac_f32_16x16x64_bf8_bf8 v[32:35], v[64:65], v[96:99], v128
v_smfmac_f32_16x16x64_bf8_fp8 v[32:35], v[64:65], v[96:99], v128
v_smfmac_f32_16x16x64_fp8_bf8 v[32:35], v[64:65], v[96:99], v128
v_smfmac_f32_16x16x64_fp8_fp8 v[32:35], v[64:65], v[96:99], v128
v_smfmac_f32_32x32x32_bf8_bf8 v[32:47], v[64:65], v[96:99], v128
v_smfmac_f32_32x32x32_bf8_fp8 v[32:47], v[64:65], v[96:99], v128
v_smfmac_f32_32x32x32_fp8_bf8 v[32:47], v[64:65], v[96:99], v128
v_smfmac_f32_32x32x32_fp8_fp8 v[32:47], v[64:65], v[96:99], v128

; DS
ds_add_u32 v8, v16
ds_sub_u32 v8, v16
ds_rsub_u32 v8, v16
ds_inc_u32 v8, v16
ds_dec_u32 v8, v16
ds_min_i32 v8, v16
ds_max_i32 v8, v16
ds_min_u32 v8, v16
ds_max_u32 v8, v16
ds_and_b32 v8, v16
ds_or_b32 v8, v16
ds_xor_b32 v8, v16
ds_mskor_b32 v8, v16, v0
ds_write_b32 v8, v16
ds_write2_b32 v8, v16, v0
ds_write2st64_b32 v8, v16, v0
ds_cmpst_b32 v8, v16, v0
ds_cmpst_f32 v8, v16, v0
ds_min_f32 v8, v16
ds_max_f32 v8, v16
ds_nop
ds_add_f32 v8, v16
ds_pk_add_f16 v8, v16
ds_pk_add_bf16 v8, v16
ds_write_addtid_b32 v16
ds_write_b8 v8, v16
ds_write_b16 v8, v16
ds_add_rtn_u32 v32, v8, v16
ds_sub_rtn_u32 v32, v8, v16
ds_rsub_rtn_u32 v32, v8, v16
ds_inc_rtn_u32 v32, v8, v16
ds_dec_rtn_u32 v32, v8, v16
ds_min_rtn_i32 v32, v8, v16
ds_max_rtn_i32 v32, v8, v16
ds_min_rtn_u32 v32, v8, v16
ds_max_rtn_u32 v32, v8, v16
ds_and_rtn_b32 v32, v8, v16
ds_or_rtn_b32 v32, v8, v16
ds_xor_rtn_b32 v32, v8, v16
ds_mskor_rtn_b32 v32, v8, v16, v24
ds_wrxchg_rtn_b32 v32, v8, v16
ds_wrxchg2_rtn_b32 v[32:33], v8, v16, v24
ds_wrxchg2st64_rtn_b32 v[32:33], v8, v16, v24
ds_cmpst_rtn_b32 v32, v8, v16, v24
ds_cmpst_rtn_f32 v32, v8, v16, v24
ds_min_rtn_f32 v32, v8, v16
ds_max_rtn_f32 v32, v8, v16
ds_wrap_rtn_b32 v32, v8, v16, v24
ds_add_rtn_f32 v32, v8, v16
ds_read_b32 v32, v8
ds_read2_b32 v[32:33], v8
ds_read2st64_b32 v[32:33], v8
ds_read_i8 v32, v8
ds_read_u8 v32, v8
ds_read_i16 v32, v8
ds_read_u16 v32, v8
ds_swizzle_b32 v32, v8
ds_permute_b32 v32, v8, v16
ds_bpermute_b32 v32, v8, v16
ds_add_u64 v8, v[16:17]
ds_sub_u64 v8, v[16:17]
ds_rsub_u64 v8, v[16:17]
ds_inc_u64 v8, v[16:17]
ds_dec_u64 v8, v[16:17]
ds_min_i64 v8, v[16:17]
ds_max_i64 v8, v[16:17]
ds_min_u64 v8, v[16:17]
ds_max_u64 v8, v[16:17]
ds_and_b64 v8, v[16:17]
ds_or_b64 v8, v[16:17]
ds_xor_b64 v8, v[16:17]
ds_mskor_b64 v8, v[16:17], v[0:1]
ds_write_b64 v8, v[16:17]
ds_write2_b64 v8, v[16:17], v[0:1]
ds_write2st64_b64 v8, v[16:17], v[0:1]
ds_cmpst_b64 v8, v[16:17], v[0:1]
ds_cmpst_f64 v8, v[16:17], v[0:1]
ds_min_f64 v8, v[16:17]
ds_max_f64 v8, v[16:17]
ds_write_b8_d16_hi v8, v16
ds_write_b16_d16_hi v8, v16
ds_read_u8_d16 v32, v8
ds_read_u8_d16_hi v32, v8
ds_read_i8_d16 v32, v8
ds_read_i8_d16_hi v32, v8
ds_read_u16_d16 v32, v8
ds_read_u16_d16_hi v32, v8
ds_add_f64 v8, v[16:17]
ds_add_rtn_u64 v[32:33], v8, v[16:17]
ds_sub_rtn_u64 v[32:33], v8, v[16:17]
ds_rsub_rtn_u64 v[32:33], v8, v[16:17]
ds_inc_rtn_u64 v[32:33], v8, v[16:17]
ds_dec_rtn_u64 v[32:33], v8, v[16:17]
ds_min_rtn_i64 v[32:33], v8, v[16:17]
ds_max_rtn_i64 v[32:33], v8, v[16:17]
ds_min_rtn_u64 v[32:33], v8, v[16:17]
ds_max_rtn_u64 v[32:33], v8, v[16:17]
ds_and_rtn_b64 v[32:33], v8, v[16:17]
ds_or_rtn_b64 v[32:33], v8, v[16:17]
ds_xor_rtn_b64 v[32:33], v8, v[16:17]
ds_mskor_rtn_b64 v[32:33], v8, v[16:17], v[24:25]
ds_wrxchg_rtn_b64 v[32:33], v8, v[16:17]
ds_wrxchg2_rtn_b64 v[32:35], v8, v[16:17], v[24:25]
ds_wrxchg2st64_rtn_b64 v[32:35], v8, v[16:17], v[24:25]
ds_cmpst_rtn_b64 v[32:33], v8, v[16:17], v[24:25]
ds_cmpst_rtn_f64 v[32:33], v8, v[16:17], v[24:25]
ds_min_rtn_f64 v[32:33], v8, v[16:17]
ds_max_rtn_f64 v[32:33], v8, v[16:17]
ds_read_b64 v[32:33], v8
ds_read2_b64 v[32:35], v8
ds_read2st64_b64 v[32:35], v8
ds_add_rtn_f64 v[32:33], v8, v[16:17]
ds_condxchg32_rtn_b64 v[32:33], v8, v[16:17]
ds_gws_sema_release_all gds
ds_gws_init v8 gds
ds_gws_sema_v gds
ds_gws_sema_br v8 gds
ds_gws_sema_p gds
ds_gws_barrier v8 gds
ds_read_addtid_b32 v0
ds_pk_add_rtn_f16 v32, v8, v16
ds_pk_add_rtn_bf16 v32, v8, v16
ds_consume v0
ds_append v0
ds_write_b96 v8, v[16:18]
ds_write_b128 v8, v[16:19]
ds_read_b96 v[32:34], v8
ds_read_b128 v[32:35], v8

; FLAT
flat_load_ubyte v0, v[0:1]
flat_load_sbyte v0, v[0:1]
flat_load_ushort v0, v[0:1]
flat_load_sshort v0, v[0:1]
flat_load_dword v0, v[0:1]
flat_load_dwordx2 v[0:1], v[0:1]
flat_load_dwordx3 v[0:2], v[0:1]
flat_load_dwordx4 v[0:3], v[0:1]
flat_store_byte v[0:1], v0
flat_store_byte_d16_hi v[0:1], v0
flat_store_short v[0:1], v0
flat_store_short_d16_hi v[0:1], v0
flat_store_dword v[0:1], v0
flat_store_dwordx2 v[0:1], v[0:1]
flat_store_dwordx3 v[0:1], v[0:2]
flat_store_dwordx4 v[0:1], v[0:3]
flat_load_ubyte_d16 v0, v[0:1]
flat_load_ubyte_d16_hi v0, v[0:1]
flat_load_sbyte_d16 v0, v[0:1]
flat_load_sbyte_d16_hi v0, v[0:1]
flat_load_short_d16 v0, v[0:1]
flat_load_short_d16_hi v0, v[0:1]
flat_atomic_swap v[0:1], v0
flat_atomic_cmpswap v[0:1], v[0:1]
flat_atomic_add v[0:1], v0
flat_atomic_sub v[0:1], v0
flat_atomic_smin v[0:1], v0
flat_atomic_umin v[0:1], v0
flat_atomic_smax v[0:1], v0
flat_atomic_umax v[0:1], v0
flat_atomic_and v[0:1], v0
flat_atomic_or v[0:1], v0
flat_atomic_xor v[0:1], v0
flat_atomic_inc v[0:1], v0
flat_atomic_dec v[0:1], v0
flat_atomic_add_f32 v[0:1], v0
flat_atomic_pk_add_f16 v[0:1], v0
flat_atomic_add_f64 v[0:1], v[0:1]
flat_atomic_min_f64 v[0:1], v[0:1]
flat_atomic_max_f64 v[0:1], v[0:1]
flat_atomic_pk_add_bf16 v[0:1], v0
flat_atomic_swap_x2 v[0:1], v[0:1]
flat_atomic_cmpswap_x2 v[0:1], v[0:3]
flat_atomic_add_x2 v[0:1], v[0:1]
flat_atomic_sub_x2 v[0:1], v[0:1]
flat_atomic_smin_x2 v[0:1], v[0:1]
flat_atomic_umin_x2 v[0:1], v[0:1]
flat_atomic_smax_x2 v[0:1], v[0:1]
flat_atomic_umax_x2 v[0:1], v[0:1]
flat_atomic_and_x2 v[0:1], v[0:1]
flat_atomic_or_x2 v[0:1], v[0:1]
flat_atomic_xor_x2 v[0:1], v[0:1]
flat_atomic_inc_x2 v[0:1], v[0:1]
flat_atomic_dec_x2 v[0:1], v[0:1]

; SCRATCH
scratch_load_ubyte v32, off, off
scratch_load_sbyte v32, off, off
scratch_load_ushort v32, off, off
scratch_load_sshort v32, off, off
scratch_load_dword v32, off, off
scratch_load_dwordx2 v[32:33], off, off
scratch_load_dwordx3 v[32:34], off, off
scratch_load_dwordx4 v[32:35], off, off
scratch_store_byte off, v16, off
scratch_store_byte_d16_hi off, v16, off
scratch_store_short off, v16, off
scratch_store_short_d16_hi off, v16, off
scratch_store_dword off, v16, off
scratch_store_dwordx2 off, v[16:17], off
scratch_store_dwordx3 off, v[16:18], off
scratch_store_dwordx4 off, v[16:19], off
scratch_load_ubyte_d16 v32, off, off
scratch_load_ubyte_d16_hi v32, off, off
scratch_load_sbyte_d16 v32, off, off
scratch_load_sbyte_d16_hi v32, off, off
scratch_load_short_d16 v32, off, off
scratch_load_short_d16_hi v32, off, off
scratch_load_lds_ubyte off, s0
scratch_load_lds_sbyte off, s0
scratch_load_lds_ushort off, s0
scratch_load_lds_sshort off, s0
scratch_load_lds_dword off, s0

; GLOBAL
global_load_ubyte v32, v[8:9], off
global_load_sbyte v32, v[8:9], off
global_load_ushort v32, v[8:9], off
global_load_sshort v32, v[8:9], off
global_load_dword v32, v[8:9], off
global_load_dwordx2 v[32:33], v[8:9], off
global_load_dwordx3 v[32:34], v[8:9], off
global_load_dwordx4 v[32:35], v[8:9], off
global_store_byte v[8:9], v16, off
global_store_byte_d16_hi v[8:9], v16, off
global_store_short v[8:9], v16, off
global_store_short_d16_hi v[8:9], v16, off
global_store_dword v[8:9], v16, off
global_store_dwordx2 v[8:9], v[16:17], off
global_store_dwordx3 v[8:9], v[16:18], off
global_store_dwordx4 v[8:9], v[16:19], off
global_load_ubyte_d16 v32, v[8:9], off
global_load_ubyte_d16_hi v32, v[8:9], off
global_load_sbyte_d16 v32, v[8:9], off
global_load_sbyte_d16_hi v32, v[8:9], off
global_load_short_d16 v32, v[8:9], off
global_load_short_d16_hi v32, v[8:9], off
global_load_lds_ubyte v[8:9], off
global_load_lds_sbyte v[8:9], off
global_load_lds_ushort v[8:9], off
global_load_lds_sshort v[8:9], off
global_load_lds_dword v[8:9], off
global_atomic_swap v[8:9], v16, off
global_atomic_cmpswap v[8:9], v[16:17], off
global_atomic_add v[8:9], v16, off
global_atomic_sub v[8:9], v16, off
global_atomic_smin v[8:9], v16, off
global_atomic_umin v[8:9], v16, off
global_atomic_smax v[8:9], v16, off
global_atomic_umax v[8:9], v16, off
global_atomic_and v[8:9], v16, off
global_atomic_or v[8:9], v16, off
global_atomic_xor v[8:9], v16, off
global_atomic_inc v[8:9], v16, off
global_atomic_dec v[8:9], v16, off
global_atomic_add_f32 v[8:9], v16, off
global_atomic_pk_add_f16 v[8:9], v16, off
global_atomic_add_f64 v[8:9], v[16:17], off
global_atomic_min_f64 v[8:9], v[16:17], off
global_atomic_max_f64 v[8:9], v[16:17], off
global_atomic_pk_add_bf16 v[8:9], v16, off
global_atomic_swap_x2 v[8:9], v[16:17], off
global_atomic_cmpswap_x2 v[8:9], v[16:19], off
global_atomic_add_x2 v[8:9], v[16:17], off
global_atomic_sub_x2 v[8:9], v[16:17], off
global_atomic_smin_x2 v[8:9], v[16:17], off
global_atomic_umin_x2 v[8:9], v[16:17], off
global_atomic_smax_x2 v[8:9], v[16:17], off
global_atomic_umax_x2 v[8:9], v[16:17], off
global_atomic_and_x2 v[8:9], v[16:17], off
global_atomic_or_x2 v[8:9], v[16:17], off
global_atomic_xor_x2 v[8:9], v[16:17], off
global_atomic_inc_x2 v[8:9], v[16:17], off
global_atomic_dec_x2 v[8:9], v[16:17], off

; MUBUF
buffer_load_format_x v16, v8, s[24:27], 0 offen
buffer_load_format_xy v[16:17], v8, s[24:27], 0 offen
buffer_load_format_xyz v[16:18], v8, s[24:27], 0 offen
buffer_load_format_xyzw v[16:19], v8, s[24:27], 0 offen
buffer_store_format_x v16, v8, s[24:27], 0 offen
buffer_store_format_xy v[16:17], v8, s[24:27], 0 offen
buffer_store_format_xyz v[16:18], v8, s[24:27], 0 offen
buffer_store_format_xyzw v[16:19], v8, s[24:27], 0 offen
buffer_load_format_d16_x v16, v8, s[24:27], 0 offen
buffer_load_format_d16_xy v16, v8, s[24:27], 0 offen
buffer_load_format_d16_xyz v[16:17], v8, s[24:27], 0 offen
buffer_load_format_d16_xyzw v[16:17], v8, s[24:27], 0 offen
buffer_store_format_d16_x v16, v8, s[24:27], 0 offen
buffer_store_format_d16_xy v16, v8, s[24:27], 0 offen
buffer_store_format_d16_xyz v[16:17], v8, s[24:27], 0 offen
buffer_store_format_d16_xyzw v[16:17], v8, s[24:27], 0 offen
buffer_load_ubyte v16, v8, s[24:27], 0 offen
buffer_load_sbyte v16, v8, s[24:27], 0 offen
buffer_load_ushort v16, v8, s[24:27], 0 offen
buffer_load_sshort v16, v8, s[24:27], 0 offen
buffer_load_dword v16, v8, s[24:27], 0 offen
buffer_load_dwordx2 v[16:17], v8, s[24:27], 0 offen
buffer_load_dwordx3 v[16:18], v8, s[24:27], 0 offen
buffer_load_dwordx4 v[16:19], v8, s[24:27], 0 offen
buffer_store_byte v16, v8, s[24:27], 0 offen
buffer_store_byte_d16_hi v16, v8, s[24:27], 0 offen
buffer_store_short v16, v8, s[24:27], 0 offen
buffer_store_short_d16_hi v16, v8, s[24:27], 0 offen
buffer_store_dword v16, v8, s[24:27], 0 offen
buffer_store_dwordx2 v[16:17], v8, s[24:27], 0 offen
buffer_store_dwordx3 v[16:18], v8, s[24:27], 0 offen
buffer_store_dwordx4 v[16:19], v8, s[24:27], 0 offen
buffer_load_ubyte_d16 v16, v8, s[24:27], 0 offen
buffer_load_ubyte_d16_hi v16, v8, s[24:27], 0 offen
buffer_load_sbyte_d16 v16, v8, s[24:27], 0 offen
buffer_load_sbyte_d16_hi v16, v8, s[24:27], 0 offen
buffer_load_short_d16 v16, v8, s[24:27], 0 offen
buffer_load_short_d16_hi v16, v8, s[24:27], 0 offen
buffer_load_format_d16_hi_x v16, v8, s[24:27], 0 offen
buffer_store_format_d16_hi_x v16, v8, s[24:27], 0 offen
buffer_atomic_swap v16, v8, s[24:27], 0 offen
buffer_atomic_cmpswap v[16:17], v8, s[24:27], 0 offen
buffer_atomic_add v16, v8, s[24:27], 0 offen
buffer_atomic_sub v16, v8, s[24:27], 0 offen
buffer_atomic_smin v16, v8, s[24:27], 0 offen
buffer_atomic_umin v16, v8, s[24:27], 0 offen
buffer_atomic_smax v16, v8, s[24:27], 0 offen
buffer_atomic_umax v16, v8, s[24:27], 0 offen
buffer_atomic_and v16, v8, s[24:27], 0 offen
buffer_atomic_or v16, v8, s[24:27], 0 offen
buffer_atomic_xor v16, v8, s[24:27], 0 offen
buffer_atomic_inc v16, v8, s[24:27], 0 offen
buffer_atomic_dec v16, v8, s[24:27], 0 offen
buffer_atomic_add_f32 v16, v8, s[24:27], 0 offen
buffer_atomic_pk_add_f16 v16, v8, s[24:27], 0 offen
buffer_atomic_add_f64 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_min_f64 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_max_f64 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_swap_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_cmpswap_x2 v[16:19], v8, s[24:27], 0 offen
buffer_atomic_add_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_sub_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_smin_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_umin_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_smax_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_umax_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_and_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_or_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_xor_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_inc_x2 v[16:17], v8, s[24:27], 0 offen
buffer_atomic_dec_x2 v[16:17], v8, s[24:27], 0 offen

; Without operands of the usual shape
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0x1234
s_dcache_inv
s_dcache_wb
s_dcache_inv_vol
s_dcache_wb_vol
s_memtime s[2:3]
s_memrealtime s[2:3]
s_dcache_discard s[2:3], 0x10
s_dcache_discard_x2 s[2:3], 0x10
buffer_wbl2 sc1
buffer_inv sc0 sc1
