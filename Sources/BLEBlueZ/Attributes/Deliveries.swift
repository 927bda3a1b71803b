internal import DBus

/// The receivers of the values of characteristics, by path.
///
/// Every notification is looked up here, on the loop's thread.
struct Deliveries {
    /// A receiver. An object, because a closure in a dictionary or an optional is wrapped in others, each of them
    /// memory that a value of one of many characteristics has to fetch.
    final class Delivery: Sendable {
        private let receive: @Sendable ([UInt8]) -> Void

        init(_ receive: @escaping @Sendable ([UInt8]) -> Void) { self.receive = receive }

        func callAsFunction(_ value: [UInt8]) { receive(value) }
    }

    private var values: [String: Delivery] = [:] {
        didSet { last = nil }
    }
    /// The delivery of the last value. The next value is often for the same path, which is then found without making a
    /// string.
    private var last: (path: String, delivery: Delivery)?

    /// The paths of the characteristics whose values are delivered.
    var paths: Set<String> { Set(values.keys) }

    var isEmpty: Bool { values.isEmpty }

    subscript(path: String) -> Delivery? {
        get { values[path] }
        set { values[path] = newValue }
    }

    mutating func find(_ path: MessageString) -> Delivery? {
        if let last, path == last.path { return last.delivery }
        guard !values.isEmpty else { return nil }
        let path = path.string
        last = values[path].map { (path, $0) }
        return last?.delivery
    }
}
