// The token iterator: feeds a prompt through a model and hands out one token after the other (IT, PR, ST, NX).

import Foundation
import KvConformKit

typealias Model = ScriptedModel<Cache>

final class TokenIterator {
    /// What a caller may give; nil: the iterator chooses.
    struct Options {
        /// At most one of these two; none: the model is asked.
        var list: CacheList<Cache>?
        var container: CacheContainer?
        var parameters = GenerateParameters(Parameters())
        var processor: (any Processor)?
        var sampler: (any Sampler)?
        /// Called before the prefill, when it is known which container the iterator works on.
        var onContainer: (CacheContainer) -> Void = { _ in }
    }

    let container: CacheContainer
    private(set) var count = 0
    /// Seconds; set once (NX-5).
    private(set) var prefillTime = 0.0
    private let model: Model
    private let parameters: GenerateParameters
    private let processor: (any Processor)?
    private let sampler: any Sampler
    private var state: Int?
    private var pending = 0

    /// The general form. The prefill runs here (IT-1).
    init(prompt: [Int], model: Model, options: Options) throws {
        try TokenIterator.check(options)
        self.model = model
        parameters = options.parameters
        processor = options.processor ?? parameters.processor()  // IT-4
        sampler = options.sampler ?? parameters.sampler()
        let list = { (options.list ?? model.newCache()).layers }  // IT-2, CT-9
        container = options.container ?? CacheContainer(list(), bits: options.parameters.values.bits)
        options.onContainer(container)
        let began = Date()
        pending = try prepare(prompt)
        prefillTime = max(0, Date().timeIntervalSince(began))
    }

    /// The sampler-first form: an explicit sampler, no parameters but these two; it never quantizes (IT-5).
    convenience init(
        prompt: [Int], model: Model, sampler: any Sampler, prefillStep: Int, maxTokens: Int?, options: Options
    ) throws {
        var values = Parameters()
        values.prefillStep = prefillStep
        values.maxTokens = maxTokens
        var options = options
        options.parameters = GenerateParameters(values)
        options.sampler = sampler
        try self.init(prompt: prompt, model: model, options: options)
    }

    /// The deprecated form over a bare prompt array (IT-6).
    convenience init(promptArray: [Int], model: Model, options: Options, warn: (String) -> Void) throws {
        warn("init(promptArray:) is deprecated; use init(prompt:) with the same arguments")
        try self.init(prompt: promptArray, model: model, options: options)
    }

    /// The next token; nil for ever once the limit is reached (NX-1).
    func next() throws -> Int? {
        if limitReached { return nil }
        let token = pending
        pending = try step([token])  // NX-2: one token ahead
        count += 1
        return token
    }

    /// Before the model is touched (IT-2, MQ-0, PR-6).
    private static func check(_ options: Options) throws {
        if options.list != nil && options.container != nil {
            throw InvalidInput("a cache list and a container are both given; give one")
        }
        let values = options.parameters.values
        if values.prefillStep < 1 { throw InvalidInput("prefill step \(values.prefillStep) is below 1") }
        if let bits = values.bits { try ExampleDriver.check(bits: bits) }
    }

    private func prepare(_ prompt: [Int]) throws -> Int {
        processor?.prompt(prompt)  // PR-1
        switch try model.prepare(prompt, cache: container.layers, window: parameters.values.prefillStep) {  // PR-2
        case .result(let result): return sample(result.logits)  // PR-4 `bare`: no call, no pass, its state is dropped
        case .tokens(let tokens):
            if tokens.isEmpty { throw InvalidInput("the prefill left no tokens and no logits to sample from") }  // PR-5
            return try step(tokens)
        }
    }

    private func step(_ tokens: [Int]) throws -> Int {
        let layers = container.layers
        let result = try model([tokens], cache: layers.isEmpty ? nil : layers, state: state)  // ST-3
        state = result.state  // ST-4
        let values = parameters.values
        try container.maybeQuantize(bits: values.bits, groupSize: values.groupSize, start: values.start)  // ST-1, IT-3
        return sample(result.logits)
    }

    private func sample(_ logits: Logits) -> Int {
        let last = logits.row(logits.rows - 1)  // ST-5
        let token = sampler.sample(processor?.process(last) ?? last)
        processor?.didSample(token)  // PS-1
        return token
    }

    private var limitReached: Bool {
        guard let limit = parameters.values.maxTokens else { return false }
        return planted(.limitOffByOne) ? count > limit : count >= limit
    }
}
