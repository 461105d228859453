// Makes a small model of random weights, and lets ggml's HIP backend and its CPU backend go on with the same prompt. The same
// weights in f32 on the CPU say how far off both are: quantized matrices are multiplied with activations of 8 bits.
// usage: tokens f16|q8_0|q4_0 [SEED [PROMPTS]]
// With PROMPTS nothing is compared: the GPU reads the prompt that often, and the processor seconds of each are printed.
#include "ggml-backend.h"
#include "gguf.h"
#include "llama.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kLayers = 4, kWidth = 256, kHeads = 8, kKvHeads = 2, kForward = 704, kContext = 256;
constexpr int kWords = 389, kPrompt = 32, kNew = 16;
constexpr int kHeadWidth = kWidth / kHeads;

[[noreturn]] void fail(const std::string &text) {
    std::fprintf(stderr, "tokens: %s\n", text.c_str());
    std::exit(1);
}

// A folder for the model files, which goes when the program ends.
struct Scratch {
    std::string folder;
    std::vector<std::string> files;
    Scratch() {
        char name[] = "/tmp/tokens-XXXXXX";
        if (!mkdtemp(name)) fail("cannot make a folder in /tmp");
        folder = name;
    }
    ~Scratch() {
        for (const std::string &file : files) unlink(file.c_str());
        rmdir(folder.c_str());
    }
    std::string file(const std::string &name) {
        files.push_back(folder + "/" + name);
        return files.back();
    }
};

void set_hyperparameters(gguf_context *gguf) {
    gguf_set_val_str(gguf, "general.architecture", "llama");
    gguf_set_val_str(gguf, "general.name", "random weights");
    gguf_set_val_u32(gguf, "general.file_type", LLAMA_FTYPE_MOSTLY_F16);
    gguf_set_val_u32(gguf, "llama.context_length", kContext);
    gguf_set_val_u32(gguf, "llama.embedding_length", kWidth);
    gguf_set_val_u32(gguf, "llama.block_count", kLayers);
    gguf_set_val_u32(gguf, "llama.feed_forward_length", kForward);
    gguf_set_val_u32(gguf, "llama.attention.head_count", kHeads);
    gguf_set_val_u32(gguf, "llama.attention.head_count_kv", kKvHeads);
    gguf_set_val_f32(gguf, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_set_val_u32(gguf, "llama.rope.dimension_count", kHeadWidth);
    gguf_set_val_u32(gguf, "llama.vocab_size", kWords);
}

void set_vocabulary(gguf_context *gguf) {
    std::vector<std::string> words = {"<unk>", "<s>", "</s>"};
    char byte[8];
    for (int i = 0; i < 256; i++) {
        std::snprintf(byte, sizeof byte, "<0x%02X>", i);
        words.push_back(byte);
    }
    while (words.size() < kWords) words.push_back("w" + std::to_string(words.size()));
    std::vector<const char *> texts;
    std::vector<float> scores;
    std::vector<int32_t> types;
    for (size_t i = 0; i < words.size(); i++) {
        texts.push_back(words[i].c_str());
        scores.push_back(-float(i));
        types.push_back(i == 0 ? LLAMA_TOKEN_TYPE_UNKNOWN : i < 3 ? LLAMA_TOKEN_TYPE_CONTROL
                        : i < 259 ? LLAMA_TOKEN_TYPE_BYTE : LLAMA_TOKEN_TYPE_NORMAL);
    }
    gguf_set_val_str(gguf, "tokenizer.ggml.model", "llama");
    gguf_set_arr_str(gguf, "tokenizer.ggml.tokens", texts.data(), texts.size());
    gguf_set_arr_data(gguf, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores.data(), scores.size());
    gguf_set_arr_data(gguf, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(), types.size());
    gguf_set_val_u32(gguf, "tokenizer.ggml.unknown_token_id", 0);
    gguf_set_val_u32(gguf, "tokenizer.ggml.bos_token_id", 1);
    gguf_set_val_u32(gguf, "tokenizer.ggml.eos_token_id", 2);
}

class Weights {
  public:
    Weights(gguf_context *gguf, unsigned seed) : gguf_(gguf), source_(seed) {
        ggml_init_params size = {size_t(64) << 20, nullptr, false};
        context_ = ggml_init(size);
    }
    ~Weights() { ggml_free(context_); }
    // Of unit variance after a product, so that no layer drowns another.
    void matrix(const std::string &name, int in, int out, float scale = 1) {
        ggml_tensor *tensor = ggml_new_tensor_2d(context_, GGML_TYPE_F16, in, out);
        std::normal_distribution<float> normal(0, scale / std::sqrt(float(in)));
        auto *data = static_cast<ggml_fp16_t *>(tensor->data);
        for (int64_t i = 0; i < ggml_nelements(tensor); i++) data[i] = ggml_fp32_to_fp16(normal(source_));
        add(tensor, name);
    }
    void norm(const std::string &name) {
        ggml_tensor *tensor = ggml_new_tensor_1d(context_, GGML_TYPE_F32, kWidth);
        std::uniform_real_distribution<float> around(0.5f, 1.5f);
        for (int i = 0; i < kWidth; i++) static_cast<float *>(tensor->data)[i] = around(source_);
        add(tensor, name);
    }

  private:
    void add(ggml_tensor *tensor, const std::string &name) {
        ggml_set_name(tensor, (name + ".weight").c_str());
        gguf_add_tensor(gguf_, tensor);
    }
    gguf_context *gguf_;
    std::mt19937 source_;
    ggml_context *context_;
};

void write_model(const std::string &path, unsigned seed) {
    gguf_context *gguf = gguf_init_empty();
    set_hyperparameters(gguf);
    set_vocabulary(gguf);
    Weights weights(gguf, seed);
    weights.matrix("token_embd", kWidth, kWords, 16);
    weights.norm("output_norm");
    weights.matrix("output", kWidth, kWords, 8);
    for (int layer = 0; layer < kLayers; layer++) {
        const std::string block = "blk." + std::to_string(layer) + ".";
        weights.norm(block + "attn_norm");
        weights.matrix(block + "attn_q", kWidth, kWidth);
        weights.matrix(block + "attn_k", kWidth, kKvHeads * kHeadWidth);
        weights.matrix(block + "attn_v", kWidth, kKvHeads * kHeadWidth);
        weights.matrix(block + "attn_output", kWidth, kWidth);
        weights.norm(block + "ffn_norm");
        weights.matrix(block + "ffn_gate", kWidth, kForward);
        weights.matrix(block + "ffn_up", kWidth, kForward);
        weights.matrix(block + "ffn_down", kForward, kWidth);
    }
    if (!gguf_write_to_file(gguf, path.c_str(), false)) fail("cannot write " + path);
    gguf_free(gguf);
}

// By llama.cpp's own quantizer, every matrix to the one type.
void quantize(const std::string &from, const std::string &to, llama_ftype type) {
    llama_model_quantize_params params = llama_model_quantize_default_params();
    params.ftype = type;
    params.pure = params.allow_requantize = true;
    params.nthread = 1;
    if (llama_model_quantize(from.c_str(), to.c_str(), &params)) fail("cannot quantize " + from);
}

struct Answer {
    std::vector<llama_token> tokens;
    std::vector<float> logits;  // of every word, for each of them
};

struct Session {
    llama_model *model;
    llama_context *context;
    Session(const std::string &path, ggml_backend_dev_t device) {
        ggml_backend_dev_t devices[] = {device, nullptr};  // only nullptr: the CPU alone
        llama_model_params with = llama_model_default_params();
        with.devices = devices;
        with.n_gpu_layers = device ? -1 : 0;
        if (!(model = llama_model_load_from_file(path.c_str(), with))) fail("cannot load " + path);
        llama_context_params params = llama_context_default_params();
        params.n_ctx = kContext;
        params.n_threads = params.n_threads_batch = 1;
        params.offload_kqv = params.op_offload = device != nullptr;
        if (!(context = llama_init_from_model(model, params))) fail("cannot make a context");
    }
    ~Session() {
        llama_free(context);
        llama_model_free(model);
    }
    const float *decode(std::vector<llama_token> tokens) {
        if (llama_decode(context, llama_batch_get_one(tokens.data(), int32_t(tokens.size())))) fail("llama_decode failed");
        return llama_get_logits_ith(context, -1);
    }
};

// Every device is given the tokens that the first one has chosen: a difference then cannot hide later ones.
Answer answer(Session &session, const std::vector<llama_token> &prompt, const std::vector<llama_token> *chosen) {
    Answer result;
    const float *logits = session.decode(prompt);
    for (int i = 0; i < kNew; i++) {
        int best = 0;
        for (int word = 1; word < kWords; word++)
            if (logits[word] > logits[best]) best = word;
        result.tokens.push_back(best);
        result.logits.insert(result.logits.end(), logits, logits + kWords);
        logits = session.decode({chosen ? (*chosen)[i] : best});
    }
    return result;
}

float largest_difference(const Answer &one, const Answer &other) {
    float largest = 0;
    for (size_t i = 0; i < one.logits.size(); i++) {
        const float difference = std::fabs(one.logits[i] - other.logits[i]);
        if (!(difference <= largest)) largest = difference;  // NaN stays
    }
    return largest;
}

int compare(const std::string &type, const Answer &gpu, const Answer &cpu, const Answer &exact) {
    const float error = largest_difference(gpu, exact), of_cpu = largest_difference(cpu, exact);
    int same = 0;
    for (int i = 0; i < kNew; i++) same += gpu.tokens[i] == cpu.tokens[i];
    // A q4_0 value counts from 0 on the GPU, where 8 times the exact sum of the activations is taken away afterwards: what was
    // rounded of them then weighs twice as much as on the CPU, which takes 8 from every value.
    const bool right = same == kNew && error <= (type == "q4_0" ? 4 : 2) * of_cpu + 0.01f;
    std::printf("%s %s: %d of %d tokens as on the CPU, largest error of a logit %g, the CPU's %g\n", right ? "PASS" : "WRONG",
                type.c_str(), same, kNew, error, of_cpu);
    return right ? 0 : 1;
}

double processor_seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

// The seconds are those of all threads, and so of the software device, too.
int read_prompts(Session &session, const std::vector<llama_token> &prompt, int times) {
    for (int i = 0; i < times; i++) {
        llama_memory_clear(llama_get_memory(session.context), true);
        const double begin = processor_seconds();
        session.decode(prompt);
        std::printf("took %.6f s\n", processor_seconds() - begin);
    }
    return 0;
}

int compare_all(const std::string &type, Scratch &scratch, const std::string &model, const std::vector<llama_token> &prompt,
                Session &on_gpu) {
    const std::string exact_model = scratch.file("f32.gguf");
    quantize(model, exact_model, LLAMA_FTYPE_ALL_F32);
    Session on_cpu(model, nullptr), exact(exact_model, nullptr);
    const Answer cpu = answer(on_cpu, prompt, nullptr);
    return compare(type, answer(on_gpu, prompt, &cpu.tokens), cpu, answer(exact, prompt, &cpu.tokens));
}

ggml_backend_dev_t gpu() {
    for (size_t i = 0; i < ggml_backend_dev_count(); i++)
        if (ggml_backend_dev_type(ggml_backend_dev_get(i)) == GGML_BACKEND_DEVICE_TYPE_GPU) return ggml_backend_dev_get(i);
    fail("ggml has no GPU");
}

}  // namespace

int main(int count, char **words) {
    const std::string type = count > 1 ? words[1] : "";
    const unsigned seed = count > 2 ? unsigned(std::atoi(words[2])) : 1;
    const int prompts = count > 3 ? std::atoi(words[3]) : 0;
    if (type != "f16" && type != "q8_0" && type != "q4_0") fail("usage: tokens f16|q8_0|q4_0 [SEED [PROMPTS]]");
    // Errors alone are printed.
    llama_log_set([](ggml_log_level level, const char *text, void *) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
    }, nullptr);
    llama_backend_init();
    int status;
    {
        Scratch scratch;
        std::string model = scratch.file("f16.gguf");
        write_model(model, seed);
        if (type != "f16") {
            quantize(model, scratch.file(type + ".gguf"),
                     type == "q8_0" ? LLAMA_FTYPE_MOSTLY_Q8_0 : LLAMA_FTYPE_MOSTLY_Q4_0);
            model = scratch.files.back();
        }
        std::mt19937 source(seed + 1);
        std::vector<llama_token> prompt = {1};
        while (prompt.size() < kPrompt) prompt.push_back(llama_token(3 + source() % (kWords - 3)));
        Session on_gpu(model, gpu());
        if (prompts)
            status = read_prompts(on_gpu, prompt, prompts);
        else
            status = compare_all(type, scratch, model, prompt, on_gpu);
    }
    llama_backend_free();
    return status;
}
