internal import DBus

/// The receivers of the values of characteristics, by path.
///
/// Every notification is looked up here, on the loop's thread.
struct Deliveries {
    typealias Deliver = @Sendable ([UInt8]) -> Void

    private var values: [String: Deliver] = [:] {
        didSet { last = nil }
    }
    /// The delivery of the last value. The next value is often for the same path, which is then found without making a
    /// string.
    private var last: (path: String, deliver: Deliver)?

    /// The paths of the characteristics whose values are delivered.
    var paths: Set<String> { Set(values.keys) }

    var isEmpty: Bool { values.isEmpty }

    subscript(path: String) -> Deliver? {
        get { values[path] }
        set { values[path] = newValue }
    }

    mutating func find(_ path: MessageString) -> Deliver? {
        if let last, path == last.path { return last.deliver }
        guard !values.isEmpty else { return nil }
        let path = path.string
        last = values[path].map { (path, $0) }
        return last?.deliver
    }
}
