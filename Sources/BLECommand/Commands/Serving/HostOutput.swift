import BLE
import BLEAssignedNumbers
import BLEDefinitions

/// Shows what happens to a host.
enum HostOutput {
    static func show(_ event: PeripheralHostEvent, _ output: Output) throws {
        switch event {
        case .centralConnected(let central):
            try line("connected", ["central": .string("\(central)")], "connected \(central)", output)
        case .centralDisconnected(let central):
            try line("disconnected", ["central": .string("\(central)")], "disconnected \(central)", output)
        case .subscribed(let value): try show("subscribed", value, output)
        case .unsubscribed(let value): try show("unsubscribed", value, output)
        case .advertisingStarted: try line("advertising", [:], "advertising", output)
        case .advertisingEnded(let error?):
            try line(
                "advertisingEnded", ["error": .string(error.message)], "advertising ended: \(error.message)", output)
        case .advertisingEnded(nil): try line("advertisingEnded", ["error": .null], "advertising ended", output)
        case .servicesLost(let error):
            try line("servicesLost", ["error": .string(error.message)], "not served now: \(error.message)", output)
        case .servicesRestored: try line("servicesRestored", [:], "served again", output)
        case .failed(let error): output.complain(error)
        }
    }

    static func show(_ answered: AnsweredRequest, _ output: Output) throws {
        let name = answered.access == .read ? "read" : "written"
        let central = "\(answered.request.central)"
        let isRejected = answered.error != nil
        // The value of a rejected write is shown; a rejected read has no value.
        let value = isRejected && answered.access == .read ? nil : answered.value
        var text = "\(name) \(title(answered.characteristic))"
        if let descriptor = answered.descriptor { text += ", \(title(descriptor))" }
        text += " by \(central)" + (value.map { ": " + ($0.isEmpty ? "-" : Hex.string($0)) } ?? "")
        if let error = answered.error { text += ", rejected: \(error)" }
        try line(
            name,
            [
                "uuid": .string(answered.characteristic.description), "service": .string(answered.service.description),
                "descriptor": .optional(answered.descriptor?.description), "central": .string(central),
                "value": .optional(value, JSON.hex), "offset": .int(answered.request.offset),
                "error": .optional(answered.error) { .string("\($0)") },
            ], text, output)
    }

    private static func show(
        _ name: String, _ subscriber: PeripheralHostEvent.Subscriber, _ output: Output
    ) throws {
        let central = subscriber.central.map { "\($0)" }
        try line(
            name,
            [
                "uuid": .string(subscriber.characteristic.description),
                "service": .string(subscriber.service.description), "central": .optional(central),
            ], "\(name) \(title(subscriber.characteristic))\(central.map { " by \($0)" } ?? "")", output)
    }

    private static func title(_ uuid: BluetoothUUID) -> String { uuid.name(in: .shown) ?? uuid.description }

    private static func line(_ event: String, _ keys: [String: JSON], _ text: String, _ output: Output) throws {
        try output.line(.object(keys.merging(["event": .string(event)]) { $1 }), text)
    }
}

/// The answered requests that wait to be shown.
struct AnsweredRequests: Sendable {
    private let stream: AsyncStream<AnsweredRequest>
    private let continuation: AsyncStream<AnsweredRequest>.Continuation

    /// The maximum number of waiting requests. Further ones are not shown: centrals may send requests faster than they
    /// can be written.
    private static let capacity = 1000

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.capacity))
    }

    func add(_ request: AnsweredRequest) { continuation.yield(request) }

    func show(_ output: Output) async throws {
        for await request in stream { try HostOutput.show(request, output) }
    }
}
