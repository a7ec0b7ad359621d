// Samplers and processors, and what a turn hands to the iterator.

/// Picks the next token from the logits of one position.
public protocol Sampler {
    func sample(_ logits: [Float]) -> Int
}

/// Changes logits before sampling and is told what was sampled.
public protocol Processor: AnyObject {
    func prompt(_ tokens: [Int])
    func process(_ logits: [Float]) -> [Float]
    func didSample(_ token: Int)
}

/// Forces another token at each call.
final class BoostProcessor: Processor {
    private var calls = 0

    func prompt(_ tokens: [Int]) {}
    func didSample(_ token: Int) {}
    func process(_ logits: [Float]) -> [Float] {
        var boosted = logits
        boosted[Int(chainAll(99, calls)) % logits.count] += 1024
        calls += 1
        return boosted
    }
}

/// The lowest index of the highest (or lowest) logit.
struct ExtremeSampler: Sampler {
    let highest: Bool

    func sample(_ logits: [Float]) -> Int {
        let extreme = (highest ? logits.max() : logits.min()) ?? 0
        return logits.firstIndex(of: extreme) ?? 0
    }
}

struct LoggedSampler: Sampler {
    let inner: any Sampler
    let trace: Trace

    func sample(_ logits: [Float]) -> Int {
        let token = inner.sample(logits)
        trace.log("sample", token: token)
        return token
    }
}

final class LoggedProcessor: Processor {
    private let inner: any Processor
    private let trace: Trace
    private let watch: () -> [String]

    init(_ inner: any Processor, trace: Trace, watch: @escaping () -> [String]) {
        self.inner = inner
        self.trace = trace
        self.watch = watch
    }

    func prompt(_ tokens: [Int]) {
        trace.events.append(["event": "prompt", "tokens": .ints(tokens)])
        inner.prompt(tokens)
    }

    func process(_ logits: [Float]) -> [Float] {
        trace.events.append(["event": "process", "caches": .strings(watch())])
        return inner.process(logits)
    }

    func didSample(_ token: Int) {
        trace.log("did-sample", token: token)
        inner.didSample(token)
    }
}

/// What a turn hands to the iterator that you build. Exactly these things; use what your form takes.
public final class Request<Cache: AnyObject, Container: AnyObject> {
    public enum Form: String {
        case general
        case samplerFirst = "sampler-first"
        case promptArray = "prompt-array"
    }

    public let form: Form
    public let prompt: [Int]
    public let model: ScriptedModel<Cache>
    /// Nil: none was given.
    public let list: CacheList<Cache>?
    /// Nil: none was given.
    public let container: Container?
    public let parameters: Parameters
    /// The explicit one; nil: that of the parameters.
    public let processor: (any Processor)?
    /// The explicit one; nil: that of the parameters (never nil in the sampler-first form).
    public let sampler: (any Sampler)?

    private let trace: Trace
    private let watch: () -> [String]
    private let setWatched: (Container) -> Void

    init(
        form: Form, prompt: [Int], model: ScriptedModel<Cache>, list: CacheList<Cache>?, container: Container?,
        parameters: Parameters, boosted: Bool, sampler: String, trace: Trace, watch: @escaping () -> [String],
        setWatched: @escaping (Container) -> Void
    ) {
        self.form = form
        self.prompt = prompt
        self.model = model
        self.list = list
        self.container = container
        self.parameters = parameters
        self.trace = trace
        self.watch = watch
        self.setWatched = setWatched
        processor = boosted ? LoggedProcessor(BoostProcessor(), trace: trace, watch: watch) : nil
        let explicit = sampler != "parameters" || form == .samplerFirst
        self.sampler = explicit ? LoggedSampler(inner: ExtremeSampler(highest: sampler != "argmin"), trace: trace) : nil
    }

    /// Put your parameters' own sampler and processor through these, so that what they do is logged.
    public func logged(_ own: any Sampler) -> any Sampler { LoggedSampler(inner: own, trace: trace) }
    public func logged(_ own: any Processor) -> any Processor { LoggedProcessor(own, trace: trace, watch: watch) }

    /// Call this when a deprecated form warns.
    public func deprecated() { trace.log("deprecated") }

    /// Call this, before the prefill, with the container that your iterator made for itself: processors log its list.
    public func works(on container: Container) { setWatched(container) }
}
