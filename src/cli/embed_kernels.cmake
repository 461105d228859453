# cmake -DOUTPUT=FILE.c -DKERNELS=FILE.hip -P embed_kernels.cmake: the text of the file as rp_selftest_kernels.
file(READ ${KERNELS} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"cli/selftest.h\"\n\nconst char rp_selftest_kernels[] = {\n${bytes}0x00};\n")
