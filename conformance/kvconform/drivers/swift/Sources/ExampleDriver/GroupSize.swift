// Which group size a layer is quantized with (GS, resolver `nearest`).

func compatibleGroupSizes(keyDim: Int, valueDim: Int) throws -> [Int] {
    if keyDim <= 0 || valueDim <= 0 {  // GS-12
        throw InvalidInput("head dims \(keyDim) and \(valueDim) are not positive")
    }
    return [32, 64, 128].filter { keyDim % $0 == 0 && valueDim % $0 == 0 }
}

/// The compatible size nearest to the request, the smaller one of a tie; nil when none is compatible (GS-2..GS-4).
func resolveGroupSize(_ requested: Int, keyDim: Int, valueDim: Int) throws -> Int? {
    let wanted = max(1, requested)  // GS-9
    let sizes = try compatibleGroupSizes(keyDim: keyDim, valueDim: valueDim)
    let ordered = planted(.tieHigh) ? sizes.reversed() : sizes
    return ordered.min { abs($0 - wanted) < abs($1 - wanted) }  // the first of equals
}
