// ggml's HIP backend without kernels for flash attention: it says so when asked, and llama.cpp then takes its other way.
#include "common.cuh"
#include "fattn.cuh"

bool ggml_cuda_flash_attn_ext_supported(int, const ggml_tensor *) {
    return false;
}

size_t ggml_cuda_flash_attn_ext_get_alloc_size(int, const ggml_tensor *dst) {
    return ggml_nbytes(dst);
}

void ggml_cuda_flash_attn_ext(ggml_backend_cuda_context &, ggml_tensor *) {
    GGML_ABORT("this build has no flash attention");
}
