// A block of a transformer, as a layer of GPT-2 has it: 80 tokens of 192 channels, 6 heads of 32, an MLP of 768.
// Products are of f16 with sums in f32; norms, softmax and the sums of the residual are f32.

#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#both = affine_map<(i, j) -> (i, j)>

func.func private @norm(%x: tensor<80x192xf32>, %scale: tensor<192xf32>, %shift: tensor<192xf32>) -> tensor<80x192xf16> {
  %zero = arith.constant 0.0 : f32
  %channels = arith.constant 192.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %rows = tensor.empty() : tensor<80xf32>
  %start = linalg.fill ins(%zero : f32) outs(%rows : tensor<80xf32>) -> tensor<80xf32>
  %sum = linalg.generic {indexing_maps = [#both, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<80x192xf32>) outs(%start : tensor<80xf32>) {
    ^bb0(%value: f32, %total: f32):
      %more = arith.addf %value, %total : f32
      linalg.yield %more : f32
  } -> tensor<80xf32>
  %squares = linalg.generic {indexing_maps = [#both, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %sum : tensor<80x192xf32>, tensor<80xf32>) outs(%start : tensor<80xf32>) {
    ^bb0(%value: f32, %all: f32, %total: f32):
      %mean = arith.divf %all, %channels : f32
      %off = arith.subf %value, %mean : f32
      %square = arith.mulf %off, %off : f32
      %more = arith.addf %square, %total : f32
      linalg.yield %more : f32
  } -> tensor<80xf32>
  %empty = tensor.empty() : tensor<80x192xf16>
  %result = linalg.generic {indexing_maps = [#both, #row, #row, #column, #column, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum, %squares, %scale, %shift : tensor<80x192xf32>, tensor<80xf32>, tensor<80xf32>, tensor<192xf32>, tensor<192xf32>)
      outs(%empty : tensor<80x192xf16>) {
    ^bb0(%value: f32, %all: f32, %square: f32, %a: f32, %b: f32, %unused: f16):
      %mean = arith.divf %all, %channels : f32
      %off = arith.subf %value, %mean : f32
      %variance = arith.divf %square, %channels : f32
      %safe = arith.addf %variance, %epsilon : f32
      %inverse = math.rsqrt %safe : f32
      %scaled = arith.mulf %off, %inverse : f32
      %times = arith.mulf %scaled, %a : f32
      %plus = arith.addf %times, %b : f32
      %half = arith.truncf %plus : f32 to f16
      linalg.yield %half : f16
  } -> tensor<80x192xf16>
  return %result : tensor<80x192xf16>
}

// The heads' part of x w: tokens x channels to heads x tokens x 32.
func.func private @heads(%x: tensor<80x192xf16>, %w: tensor<192x192xf16>) -> tensor<6x80x32xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<80x192xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<80x192xf32>) -> tensor<80x192xf32>
  %product = linalg.matmul ins(%x, %w : tensor<80x192xf16>, tensor<192x192xf16>) outs(%start : tensor<80x192xf32>) -> tensor<80x192xf32>
  %split = tensor.expand_shape %product [[0], [1, 2]] output_shape [80, 6, 32] : tensor<80x192xf32> into tensor<80x6x32xf32>
  %turned = tensor.empty() : tensor<6x80x32xf16>
  %result = linalg.generic {indexing_maps = [affine_map<(h, t, c) -> (t, h, c)>, affine_map<(h, t, c) -> (h, t, c)>],
                            iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%split : tensor<80x6x32xf32>) outs(%turned : tensor<6x80x32xf16>) {
    ^bb0(%value: f32, %unused: f16):
      %half = arith.truncf %value : f32 to f16
      linalg.yield %half : f16
  } -> tensor<6x80x32xf16>
  return %result : tensor<6x80x32xf16>
}

func.func private @attention(%q: tensor<6x80x32xf16>, %k: tensor<6x80x32xf16>, %v: tensor<6x80x32xf16>) -> tensor<80x192xf16> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.17677669529663687 : f32
  %never = arith.constant -1.0e30 : f32
  %empty = tensor.empty() : tensor<6x80x80xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x80x80xf32>) -> tensor<6x80x80xf32>
  %products = linalg.batch_matmul
      indexing_maps = [affine_map<(h, i, j, c) -> (h, i, c)>, affine_map<(h, i, j, c) -> (h, j, c)>, affine_map<(h, i, j, c) -> (h, i, j)>]
      ins(%q, %k : tensor<6x80x32xf16>, tensor<6x80x32xf16>) outs(%start : tensor<6x80x80xf32>) -> tensor<6x80x80xf32>
  %scores = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (h, i, j)>],
                            iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%products : tensor<6x80x80xf32>) outs(%empty : tensor<6x80x80xf32>) {
    ^bb0(%value: f32, %unused: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %seen = arith.cmpi ule, %j, %i : index
      %scaled = arith.mulf %value, %scale : f32
      %score = arith.select %seen, %scaled, %never : f32
      linalg.yield %score : f32
  } -> tensor<6x80x80xf32>
  %softmax = linalg.softmax dimension(2) ins(%scores : tensor<6x80x80xf32>) outs(%empty : tensor<6x80x80xf32>) -> tensor<6x80x80xf32>
  %empty_weights = tensor.empty() : tensor<6x80x80xf16>
  %weights = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (h, i, j)>],
                             iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%softmax : tensor<6x80x80xf32>) outs(%empty_weights : tensor<6x80x80xf16>) {
    ^bb0(%value: f32, %unused: f16):
      %half = arith.truncf %value : f32 to f16
      linalg.yield %half : f16
  } -> tensor<6x80x80xf16>
  %empty_mixed = tensor.empty() : tensor<6x80x32xf32>
  %start_mixed = linalg.fill ins(%zero : f32) outs(%empty_mixed : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %mixed = linalg.batch_matmul ins(%weights, %v : tensor<6x80x80xf16>, tensor<6x80x32xf16>) outs(%start_mixed : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %turned = tensor.empty() : tensor<80x6x32xf16>
  %joined = linalg.generic {indexing_maps = [affine_map<(t, h, c) -> (h, t, c)>, affine_map<(t, h, c) -> (t, h, c)>],
                            iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%mixed : tensor<6x80x32xf32>) outs(%turned : tensor<80x6x32xf16>) {
    ^bb0(%value: f32, %unused: f16):
      %half = arith.truncf %value : f32 to f16
      linalg.yield %half : f16
  } -> tensor<80x6x32xf16>
  %result = tensor.collapse_shape %joined [[0], [1, 2]] : tensor<80x6x32xf16> into tensor<80x192xf16>
  return %result : tensor<80x192xf16>
}

func.func @block(%x: tensor<80x192xf32>, %scale1: tensor<192xf32>, %shift1: tensor<192xf32>, %wq: tensor<192x192xf16>,
                 %wk: tensor<192x192xf16>, %wv: tensor<192x192xf16>, %wo: tensor<192x192xf16>, %scale2: tensor<192xf32>,
                 %shift2: tensor<192xf32>, %up: tensor<192x768xf16>, %down: tensor<768x192xf16>) -> tensor<80x192xf32> {
  %normed = call @norm(%x, %scale1, %shift1) : (tensor<80x192xf32>, tensor<192xf32>, tensor<192xf32>) -> tensor<80x192xf16>
  %q = call @heads(%normed, %wq) : (tensor<80x192xf16>, tensor<192x192xf16>) -> tensor<6x80x32xf16>
  %k = call @heads(%normed, %wk) : (tensor<80x192xf16>, tensor<192x192xf16>) -> tensor<6x80x32xf16>
  %v = call @heads(%normed, %wv) : (tensor<80x192xf16>, tensor<192x192xf16>) -> tensor<6x80x32xf16>
  %mixed = call @attention(%q, %k, %v) : (tensor<6x80x32xf16>, tensor<6x80x32xf16>, tensor<6x80x32xf16>) -> tensor<80x192xf16>
  %middle = linalg.matmul ins(%mixed, %wo : tensor<80x192xf16>, tensor<192x192xf16>) outs(%x : tensor<80x192xf32>) -> tensor<80x192xf32>

  %normed2 = call @norm(%middle, %scale2, %shift2) : (tensor<80x192xf32>, tensor<192xf32>, tensor<192xf32>) -> tensor<80x192xf16>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<80x768xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<80x768xf32>) -> tensor<80x768xf32>
  %wide = linalg.matmul ins(%normed2, %up : tensor<80x192xf16>, tensor<192x768xf16>) outs(%start : tensor<80x768xf32>) -> tensor<80x768xf32>
  %empty_half = tensor.empty() : tensor<80x768xf16>
  %active = linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%wide : tensor<80x768xf32>) outs(%empty_half : tensor<80x768xf16>) {
    ^bb0(%value: f32, %unused: f16):
      %half = arith.constant 0.5 : f32
      %one = arith.constant 1.0 : f32
      %root = arith.constant 0.7978845608028654 : f32
      %cubic = arith.constant 0.044715 : f32
      %square = arith.mulf %value, %value : f32
      %cube = arith.mulf %square, %value : f32
      %third = arith.mulf %cube, %cubic : f32
      %inner = arith.addf %value, %third : f32
      %angle = arith.mulf %inner, %root : f32
      %bent = math.tanh %angle : f32
      %gate = arith.addf %bent, %one : f32
      %part = arith.mulf %value, %half : f32
      %gelu = arith.mulf %part, %gate : f32
      %result = arith.truncf %gelu : f32 to f16
      linalg.yield %result : f16
  } -> tensor<80x768xf16>
  %out = linalg.matmul ins(%active, %down : tensor<80x768xf16>, tensor<768x192xf16>) outs(%middle : tensor<80x192xf32>) -> tensor<80x192xf32>
  return %out : tensor<80x192xf32>
}
