import BLE

/// What the machine is doing.
enum CoffeeState: UInt8, ValueCodable {
    case idle = 0
    case heating = 1
    case brewing = 2
    case done = 3
}

/// The result of a request to the control point.
enum CoffeeResult: UInt8, ControlPointResult {
    case success = 1
    case notSupported = 2
    case invalidParameter = 3
    case failed = 4
    case busy = 5
    case notBrewing = 6

    var meaning: String? { "\(self)" }
}

enum CoffeeOpcode {
    /// Its parameter is the amount in milliliters, a `UInt16`.
    static let start: UInt8 = 1
    static let stop: UInt8 = 2
    static let response: UInt8 = 0x80
}

extension ATTError {
    /// The setpoint is too high. An error of the application, 0x80 to 0x9F, reaches centrals on every system.
    static let tooHot = ATTError(rawValue: 0x80)
}

extension BluetoothUUID {
    static let coffee = BluetoothUUID("C0FFEE00-5C0E-4F0B-9B5D-0A6A3B1F7C21")!
    static let coffeeControlPoint = BluetoothUUID("C0FFEE03-5C0E-4F0B-9B5D-0A6A3B1F7C21")!
}

extension Characteristic where Value == Double {
    /// The temperature to brew at, in °C, in steps of 0.1.
    static let coffeeSetpoint = Characteristic(
        .fixedPoint(.uint16, dividedBy: 10), BluetoothUUID("C0FFEE01-5C0E-4F0B-9B5D-0A6A3B1F7C21")!, service: .coffee)
}

extension Characteristic where Value == CoffeeState {
    static let coffeeState = Characteristic(
        BluetoothUUID("C0FFEE02-5C0E-4F0B-9B5D-0A6A3B1F7C21")!, service: .coffee)
}

/// A coffee machine, as a phone uses it.
struct Coffee: Profile {
    static let serviceUUID = BluetoothUUID.coffee
    let service: PeripheralService

    func setpointCelsius() async throws(BLEError) -> Double { try await service.read(.coffeeSetpoint) }

    func setSetpoint(celsius: Double) async throws(BLEError) { try await service.write(celsius, to: .coffeeSetpoint) }

    func state() async throws(BLEError) -> CoffeeState { try await service.read(.coffeeState) }

    /// The changes from now on.
    func states() async throws(BLEError) -> NotificationStream<CoffeeState> {
        try await service.notifications(.coffeeState)
    }

    /// Returns once the machine has accepted it. ``states()`` tells when it is done.
    func start(milliliters: UInt16) async throws(BLEError) {
        try await controlPoint.perform(CoffeeOpcode.start, milliliters)
    }

    func stop() async throws(BLEError) { try await controlPoint.perform(CoffeeOpcode.stop) }

    private var controlPoint: ControlPoint<CoffeeResult> {
        ControlPoint(.coffeeControlPoint, of: service, responseOpcode: CoffeeOpcode.response)
    }
}
