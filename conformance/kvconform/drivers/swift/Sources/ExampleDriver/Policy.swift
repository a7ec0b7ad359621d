// One maybe-quantize pass in the dialect `proposal`: planned first, conversions included, and committed afterwards, so
// that a pass that fails has changed nothing (MQ-13).

func isQuantizable(_ cache: Cache) -> Bool {
    switch cache.kind {
    case .plain, .chunked: true  // QP-1, QP-2
    case .rotating: planted(.convertRotating)
    default: false
    }
}

/// Whatever is requested (HD-2).
func isCompatible(_ cache: Cache) throws -> Bool {
    guard let dims = cache.headDims else { return false }
    return try !compatibleGroupSizes(keyDim: dims.key, valueDim: dims.value).isEmpty
}

/// Whether the layer by itself triggers, compatible or not (TH-1, TH-5).
func qualifies(_ cache: Cache, start: Int) -> Bool {
    guard isQuantizable(cache), let offset = cache.offset else { return false }
    return offset >= start
}

/// Whether the pass converts the layer, once one layer has triggered (MQ-3).
func converts(_ cache: Cache, groupSize: Int) throws -> Bool {
    if planted(.quantizeTwice) && cache.kind == .quantized { return true }
    guard isQuantizable(cache), cache.holdsEveryRow else { return false }
    guard let dims = cache.headDims else { return false }  // an empty layer stays plain (MQ-8)
    return try resolveGroupSize(groupSize, keyDim: dims.key, valueDim: dims.value) != nil
}

/// Whether a pass triggers, and the list after it.
func plannedPass(
    _ layers: [Cache], bits: Int?, groupSize: Int, start: Int
) throws -> (triggered: Bool, layers: [Cache]) {
    guard let bits, layers.contains(where: { qualifies($0, start: start) }) else {
        return (false, layers)  // MQ-1, MQ-2
    }
    try check(bits: bits)  // MQ-14
    var converted: [ObjectIdentifier: Cache] = [:]  // an object that sits in two places is converted once (MQ-12)
    let after = try layers.map { layer -> Cache in
        if let known = converted[ObjectIdentifier(layer)] { return known }
        let result =
            try converts(layer, groupSize: groupSize) ? layer.toQuantized(bits: bits, groupSize: groupSize) : layer
        converted[ObjectIdentifier(layer)] = result
        return result
    }
    return (true, after)
}

/// The free pass, without memory; whether it triggered (MQ-15).
func maybeQuantize(_ layers: inout [Cache], bits: Int?, groupSize: Int, start: Int) throws -> Bool {
    let plan = try plannedPass(layers, bits: bits, groupSize: groupSize, start: start)
    layers = plan.layers
    return plan.triggered
}
