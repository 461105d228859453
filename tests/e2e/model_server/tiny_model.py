#!/usr/bin/env python3
"""Writes a model with random weights for llama.cpp's server: what it says means nothing.

usage: tiny_model.py FILE [SEED]

GGUF version 3, the llama architecture, one layer, a vocabulary of single bytes. Two runs with the
same seed write the same bytes. The format: github.com/ggml-org/ggml, docs/gguf.md.
"""
import random
import struct
import sys

UINT32, FLOAT32, STRING, ARRAY, INT32 = 4, 6, 8, 9, 5  # types of values in GGUF
TENSOR_FLOAT32 = 0
ALIGNMENT = 32
WIDTH, FEED_FORWARD, HEADS, CONTEXT = 32, 64, 2, 65536
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # types of tokens
# A message in this model's words; plain, so that every role is seen by it.
TEMPLATE = ("{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
            "{% if add_generation_prompt %}assistant: {% endif %}")


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, kind, value):
    head = text(key) + struct.pack("<I", kind)
    if kind == UINT32:
        return head + struct.pack("<I", value)
    if kind == FLOAT32:
        return head + struct.pack("<f", value)
    if kind == STRING:
        return head + text(value)
    raise ValueError(kind)


def array(key, kind, values):
    body = b"".join(text(v) if kind == STRING else struct.pack("<f" if kind == FLOAT32 else "<i", v)
                    for v in values)
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + body


def vocabulary():
    words = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    words += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    # Pieces that make an answer look like one now and then.
    pieces = ["▁", "```", "\n", "{", "}", ";", "__global__", "void", "float", "(", ")", "=", "+",
              "for", "int", "#pragma", "unroll", "return", "*", "i"]
    return words + [(piece, NORMAL) for piece in pieces]


def metadata(words):
    return [
        pair("general.architecture", STRING, "llama"),
        pair("general.name", STRING, "random weights"),
        pair("llama.context_length", UINT32, CONTEXT),
        pair("llama.embedding_length", UINT32, WIDTH),
        pair("llama.block_count", UINT32, 1),
        pair("llama.feed_forward_length", UINT32, FEED_FORWARD),
        pair("llama.attention.head_count", UINT32, HEADS),
        pair("llama.attention.head_count_kv", UINT32, HEADS),
        pair("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        pair("llama.rope.dimension_count", UINT32, WIDTH // HEADS),
        pair("llama.vocab_size", UINT32, len(words)),
        pair("tokenizer.ggml.model", STRING, "llama"),
        array("tokenizer.ggml.tokens", STRING, [word for word, _ in words]),
        array("tokenizer.ggml.scores", FLOAT32, [-float(i) for i in range(len(words))]),
        array("tokenizer.ggml.token_type", INT32, [kind for _, kind in words]),
        pair("tokenizer.ggml.unknown_token_id", UINT32, 0),
        pair("tokenizer.ggml.bos_token_id", UINT32, 1),
        pair("tokenizer.ggml.eos_token_id", UINT32, 2),
        pair("tokenizer.chat_template", STRING, TEMPLATE),
    ]


def shapes(words):
    square = (WIDTH, WIDTH)
    result = [("token_embd.weight", (WIDTH, words)), ("output_norm.weight", (WIDTH,)),
              ("output.weight", (WIDTH, words)), ("blk.0.attn_norm.weight", (WIDTH,)),
              ("blk.0.ffn_norm.weight", (WIDTH,)),
              ("blk.0.ffn_gate.weight", (WIDTH, FEED_FORWARD)),
              ("blk.0.ffn_up.weight", (WIDTH, FEED_FORWARD)),
              ("blk.0.ffn_down.weight", (FEED_FORWARD, WIDTH))]
    return result + [(f"blk.0.attn_{part}.weight", square) for part in ("q", "k", "v", "output")]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    source = random.Random(int(sys.argv[2]) if len(sys.argv) == 3 else 1)
    words = vocabulary()
    pairs = metadata(words)
    index, data = b"", b""
    for name, shape in shapes(len(words)):
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        scale = 1.0 if len(shape) == 2 else 0.1
        index += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        index += struct.pack("<IQ", TENSOR_FLOAT32, len(data))
        data += struct.pack(f"<{count}f", *(source.gauss(0, scale) for _ in range(count)))
        data += b"\0" * (-len(data) % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes(0)), len(pairs)) + b"".join(pairs) + index
    with open(sys.argv[1], "wb") as out:
        out.write(head + b"\0" * (-len(head) % ALIGNMENT) + data)


main()
