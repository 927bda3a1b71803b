// The code of Docs/WritingAProfile.md, word for word (WritingAProfileTests looks whether it is).

import BLE

struct FanState: Hashable, ValueCodable {
    /// Percent of the greatest speed, 0 to 100.
    var speedPercent: Int
    /// Of the motor; nil when it was not sent.
    var temperatureCelsius: Double?

    init(speedPercent: Int, temperatureCelsius: Double? = nil) {
        self.speedPercent = speedPercent
        self.temperatureCelsius = temperatureCelsius
    }

    init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        speedPercent = Int(try reader.uint8())
        guard speedPercent <= 100 else { throw reader.invalid("\(speedPercent) is not between 0 and 100") }
        temperatureCelsius = flags & 0x01 != 0 ? Double(try reader.int16()) / 100 : nil
    }

    func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(temperatureCelsius == nil ? 0 : 0x01)
        try writer.integer(speedPercent, .uint8)
        if let temperatureCelsius { try writer.rounded(temperatureCelsius * 100, .int16) }
    }

    static var ignoresTrailingBytes: Bool { true }
}

extension BluetoothUUID {
    static let fan = BluetoothUUID(0xFF00)
}

extension Characteristic where Value == FanState {
    static var fanState: Self { Characteristic(BluetoothUUID(0xFF01), service: .fan) }
}

struct Fan: Profile {
    static let serviceUUID = BluetoothUUID.fan
    let service: PeripheralService

    /// How it runs.
    func state() async throws(BLEError) -> FanState { try await service.read(.fanState) }

    /// How it runs, whenever that changes.
    func states() async throws(BLEError) -> NotificationStream<FanState> { try await service.notifications(.fanState) }

    /// Sets the speed. Throws `procedureFailed` with a ``FanResult``.
    func setSpeed(percent: Int) async throws(BLEError) {
        guard 0...100 ~= percent else { throw BLEError(.invalidArgument, "\(percent) is not between 0 and 100") }
        try await controlPoint.perform(1, UInt8(percent))
    }

    private var controlPoint: ControlPoint<FanResult> {
        ControlPoint(BluetoothUUID(0xFF02), of: service, responseOpcode: 0x80)
    }
}

struct FanResult: ControlPointResult {
    let rawValue: UInt8

    static let success = FanResult(rawValue: 1)
    static let tooHot = FanResult(rawValue: 2)

    var meaning: String? { self == .tooHot ? "too hot to run faster" : nil }
}
