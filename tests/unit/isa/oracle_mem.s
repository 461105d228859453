// Memory: scalar buffer atomics, typed buffers, loads to LDS.
s_buffer_atomic_swap s8, s[8:11], 0x10
s_buffer_atomic_swap s8, s[8:11], s3 glc
s_atomic_swap s8, s[8:9], s3 glc
s_buffer_atomic_cmpswap s[8:9], s[8:11], 0x10
s_buffer_atomic_cmpswap s[8:9], s[8:11], s3 glc
s_atomic_cmpswap s[8:9], s[8:9], s3 glc
s_buffer_atomic_add s8, s[8:11], 0x10
s_buffer_atomic_add s8, s[8:11], s3 glc
s_atomic_add s8, s[8:9], s3 glc
s_buffer_atomic_sub s8, s[8:11], 0x10
s_buffer_atomic_sub s8, s[8:11], s3 glc
s_atomic_sub s8, s[8:9], s3 glc
s_buffer_atomic_smin s8, s[8:11], 0x10
s_buffer_atomic_smin s8, s[8:11], s3 glc
s_atomic_smin s8, s[8:9], s3 glc
s_buffer_atomic_umin s8, s[8:11], 0x10
s_buffer_atomic_umin s8, s[8:11], s3 glc
s_atomic_umin s8, s[8:9], s3 glc
s_buffer_atomic_smax s8, s[8:11], 0x10
s_buffer_atomic_smax s8, s[8:11], s3 glc
s_atomic_smax s8, s[8:9], s3 glc
s_buffer_atomic_umax s8, s[8:11], 0x10
s_buffer_atomic_umax s8, s[8:11], s3 glc
s_atomic_umax s8, s[8:9], s3 glc
s_buffer_atomic_and s8, s[8:11], 0x10
s_buffer_atomic_and s8, s[8:11], s3 glc
s_atomic_and s8, s[8:9], s3 glc
s_buffer_atomic_or s8, s[8:11], 0x10
s_buffer_atomic_or s8, s[8:11], s3 glc
s_atomic_or s8, s[8:9], s3 glc
s_buffer_atomic_xor s8, s[8:11], 0x10
s_buffer_atomic_xor s8, s[8:11], s3 glc
s_atomic_xor s8, s[8:9], s3 glc
s_buffer_atomic_inc s8, s[8:11], 0x10
s_buffer_atomic_inc s8, s[8:11], s3 glc
s_atomic_inc s8, s[8:9], s3 glc
s_buffer_atomic_dec s8, s[8:11], 0x10
s_buffer_atomic_dec s8, s[8:11], s3 glc
s_atomic_dec s8, s[8:9], s3 glc
s_buffer_atomic_swap_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_swap_x2 s[8:9], s[8:11], s3 glc
s_atomic_swap_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_cmpswap_x2 s[8:11], s[8:11], 0x10
s_buffer_atomic_cmpswap_x2 s[8:11], s[8:11], s3 glc
s_atomic_cmpswap_x2 s[8:11], s[8:9], s3 glc
s_buffer_atomic_add_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_add_x2 s[8:9], s[8:11], s3 glc
s_atomic_add_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_sub_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_sub_x2 s[8:9], s[8:11], s3 glc
s_atomic_sub_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_smin_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_smin_x2 s[8:9], s[8:11], s3 glc
s_atomic_smin_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_umin_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_umin_x2 s[8:9], s[8:11], s3 glc
s_atomic_umin_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_smax_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_smax_x2 s[8:9], s[8:11], s3 glc
s_atomic_smax_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_umax_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_umax_x2 s[8:9], s[8:11], s3 glc
s_atomic_umax_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_and_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_and_x2 s[8:9], s[8:11], s3 glc
s_atomic_and_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_or_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_or_x2 s[8:9], s[8:11], s3 glc
s_atomic_or_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_xor_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_xor_x2 s[8:9], s[8:11], s3 glc
s_atomic_xor_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_inc_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_inc_x2 s[8:9], s[8:11], s3 glc
s_atomic_inc_x2 s[8:9], s[8:9], s3 glc
s_buffer_atomic_dec_x2 s[8:9], s[8:11], 0x10
s_buffer_atomic_dec_x2 s[8:9], s[8:11], s3 glc
s_atomic_dec_x2 s[8:9], s[8:9], s3 glc
s_atc_probe_buffer 8, s[8:11], 0x10
s_scratch_load_dword s5, s[2:3], s101
s_scratch_store_dwordx4 s[8:11], s[2:3], s7
s_buffer_store_dwordx4 s[8:11], s[12:15], m0
tbuffer_load_format_x v4, v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_x v4, off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_load_format_x a4, v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_store_format_x v4, v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_store_format_x v4, off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_store_format_x a4, v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_load_format_d16_x v4, v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_d16_x v4, off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_load_format_d16_x a4, v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_store_format_d16_x v4, v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_store_format_d16_x v4, off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_store_format_d16_x a4, v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_load_format_xy v[4:5], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_xy v[4:5], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_load_format_xy a[4:5], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_store_format_xy v[4:5], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_store_format_xy v[4:5], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_store_format_xy a[4:5], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_load_format_d16_xy v4, v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_d16_xy v4, off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_load_format_d16_xy a4, v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_store_format_d16_xy v4, v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_store_format_d16_xy v4, off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_store_format_d16_xy a4, v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_load_format_xyz v[4:6], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_xyz v[4:6], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_load_format_xyz a[4:6], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_store_format_xyz v[4:6], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_store_format_xyz v[4:6], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_store_format_xyz a[4:6], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_load_format_d16_xyz v[4:5], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_d16_xyz v[4:5], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_load_format_d16_xyz a[4:5], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_store_format_d16_xyz v[4:5], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_store_format_d16_xyz v[4:5], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_store_format_d16_xyz a[4:5], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_load_format_xyzw v[4:7], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_xyzw v[4:7], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_load_format_xyzw a[4:7], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_store_format_xyzw v[4:7], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_store_format_xyzw v[4:7], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_store_format_xyzw a[4:7], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_load_format_d16_xyzw v[4:5], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_d16_xyzw v[4:5], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_load_format_d16_xyzw a[4:5], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_store_format_d16_xyzw v[4:5], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_store_format_d16_xyzw v[4:5], off, s[8:11], s3 format:[BUF_NUM_FORMAT_SINT] offset:4095 sc0 nt sc1
tbuffer_store_format_d16_xyzw a[4:5], v[2:3], s[8:11], s3 format:[BUF_DATA_FORMAT_2_10_10_10] idxen offen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:0 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:1 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:2 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:3 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:4 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:5 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:6 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:7 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:8 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:9 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:10 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:11 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:12 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:13 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:14 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:15 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:16 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:17 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:18 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:19 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:20 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:21 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:22 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:23 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:24 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:25 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:26 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:27 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:28 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:29 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:30 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:31 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:32 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:33 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:34 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:35 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:36 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:37 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:38 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:39 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:40 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:41 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:42 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:43 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:44 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:45 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:46 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:47 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:48 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:49 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:50 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:51 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:52 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:53 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:54 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:55 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:56 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:57 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:58 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:59 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:60 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:61 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:62 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:63 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:64 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:65 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:66 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:67 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:68 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:69 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:70 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:71 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:72 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:73 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:74 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:75 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:76 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:77 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:78 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:79 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:80 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:81 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:82 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:83 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:84 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:85 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:86 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:87 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:88 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:89 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:90 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:91 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:92 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:93 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:94 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:95 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:96 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:97 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:98 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:99 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:100 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:101 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:102 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:103 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:104 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:105 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:106 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:107 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:108 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:109 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:110 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:111 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:112 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:113 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:114 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:115 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:116 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:117 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:118 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:119 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:120 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:121 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:122 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:123 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:124 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:125 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:126 idxen
tbuffer_load_format_x v4, v2, s[8:11], s3 format:127 idxen
buffer_load_ubyte off, s[8:11], s3 offset:4 lds
buffer_load_ubyte v2, s[8:11], s3 offen sc0 nt sc1 lds
buffer_load_sbyte off, s[8:11], s3 offset:4 lds
buffer_load_sbyte v2, s[8:11], s3 offen sc0 nt sc1 lds
buffer_load_ushort off, s[8:11], s3 offset:4 lds
buffer_load_ushort v2, s[8:11], s3 offen sc0 nt sc1 lds
buffer_load_sshort off, s[8:11], s3 offset:4 lds
buffer_load_sshort v2, s[8:11], s3 offen sc0 nt sc1 lds
buffer_load_dword off, s[8:11], s3 offset:4 lds
buffer_load_dword v2, s[8:11], s3 offen sc0 nt sc1 lds
buffer_load_format_x off, s[8:11], s3 offset:4 lds
buffer_load_format_x v2, s[8:11], s3 offen sc0 nt sc1 lds
scratch_load_lds_ubyte v2, off offset:-4
scratch_load_lds_ubyte off, s3 offset:-4
scratch_load_lds_ubyte v2, s3 offset:-4
scratch_load_lds_ubyte off, off offset:-4
global_load_lds_ubyte v[2:3], off offset:16
global_load_lds_ubyte v2, s[2:3] offset:-16
scratch_load_lds_sbyte v2, off offset:-4
scratch_load_lds_sbyte off, s3 offset:-4
scratch_load_lds_sbyte v2, s3 offset:-4
scratch_load_lds_sbyte off, off offset:-4
global_load_lds_sbyte v[2:3], off offset:16
global_load_lds_sbyte v2, s[2:3] offset:-16
scratch_load_lds_ushort v2, off offset:-4
scratch_load_lds_ushort off, s3 offset:-4
scratch_load_lds_ushort v2, s3 offset:-4
scratch_load_lds_ushort off, off offset:-4
global_load_lds_ushort v[2:3], off offset:16
global_load_lds_ushort v2, s[2:3] offset:-16
scratch_load_lds_sshort v2, off offset:-4
scratch_load_lds_sshort off, s3 offset:-4
scratch_load_lds_sshort v2, s3 offset:-4
scratch_load_lds_sshort off, off offset:-4
global_load_lds_sshort v[2:3], off offset:16
global_load_lds_sshort v2, s[2:3] offset:-16
scratch_load_lds_dword v2, off offset:-4
scratch_load_lds_dword off, s3 offset:-4
scratch_load_lds_dword v2, s3 offset:-4
scratch_load_lds_dword off, off offset:-4
global_load_lds_dword v[2:3], off offset:16
global_load_lds_dword v2, s[2:3] offset:-16
ds_swizzle_b32 v8, v2 offset:57344
ds_swizzle_b32 v8, v2 offset:57349
ds_swizzle_b32 v8, v2 offset:57354
ds_swizzle_b32 v8, v2 offset:57359
ds_swizzle_b32 v8, v2 offset:57364
ds_swizzle_b32 v8, v2 offset:57369
ds_swizzle_b32 v8, v2 offset:57374
ds_swizzle_b32 v8, v2 offset:swizzle(FFT,7)
