// Generation parameters, and the sampler and processor that they give (PS).

import KvConformKit

/// The lowest index of the highest logit (PS-2).
struct ArgmaxSampler: Sampler {
    func sample(_ logits: [Float]) -> Int {
        logits.indices.reduce(0) { best, index in logits[index] > logits[best] ? index : best }
    }
}

/// Makes the latest tokens less likely (PS-3).
final class RepetitionPenalty: Processor {
    private let penalty: Float
    private let contextSize: Int
    private var latest: [Int] = []

    init(penalty: Float, contextSize: Int) {
        self.penalty = penalty
        self.contextSize = contextSize
    }

    func prompt(_ tokens: [Int]) { latest = Array(tokens.suffix(contextSize)) }

    func process(_ logits: [Float]) -> [Float] {
        var changed = logits
        for token in Set(latest) {
            changed[token] = logits[token] > 0 ? logits[token] / penalty : logits[token] * penalty
        }
        return changed
    }

    func didSample(_ token: Int) { latest = Array((latest + [token]).suffix(contextSize)) }
}

class GenerateParameters {
    let values: Parameters

    init(_ values: Parameters) { self.values = values }

    func sampler() -> any Sampler { ArgmaxSampler() }
    func processor() -> (any Processor)? {
        values.repetitionPenalty.map {
            RepetitionPenalty(penalty: Float($0), contextSize: values.repetitionContextSize)
        }
    }
}
