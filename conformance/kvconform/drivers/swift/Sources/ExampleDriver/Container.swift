// The container: owns a copy of a model's cache list and latches the pass (CT).

final class CacheContainer {
    private(set) var layers: [Cache]
    private var armed: Bool

    /// Armed only with bits and with at least one quantizable layer (CT-4, CT-5).
    init(_ layers: [Cache], bits: Int?) {
        self.layers = layers
        armed = bits != nil && layers.contains(where: isQuantizable)
    }

    /// One pass with this call's bits, group size and start; the first that triggers is the last (CT-4, CT-6, CT-7).
    func maybeQuantize(bits: Int?, groupSize: Int, start: Int) throws {
        guard armed else { return }  // CT-11: before any look at a layer
        let plan = try plannedPass(layers, bits: bits, groupSize: groupSize, start: start)
        layers = plan.layers
        armed = !plan.triggered
    }
}
