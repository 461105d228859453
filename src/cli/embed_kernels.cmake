# cmake -DOUTPUT=FILE.c -DNAME=NAME -DKERNELS=FILE.hip -P embed_kernels.cmake: the text of the file as NAME.
file(READ ${KERNELS} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"cli/workload.h\"\n\nconst char ${NAME}[] = {\n${bytes}0x00};\n")
