/// A type that speaks to one service, in the words of its specification.
///
/// ```swift
/// struct Fan: Profile {
///     static let serviceUUID = BluetoothUUID(0xFF00)
///     let service: PeripheralService
///
///     func speed() async throws(BLEError) -> UInt8 { try await service.read(.fanSpeed) }
/// }
/// let speed = try await Fan(peripheral).speed()
/// ```
///
/// `Docs/WritingAProfile.md` shows how a whole one is written.
public protocol Profile: Sendable {
    /// The service's type, by which peripherals that have it are found.
    static var serviceUUID: BluetoothUUID { get }
    /// The service that is spoken to.
    var service: PeripheralService { get }
    /// Speaks to a service. Nothing is sent yet.
    init(service: PeripheralService)
}

extension Profile {
    /// Speaks to the peripheral's service, the first where it has several. Nothing is sent yet.
    public init(_ peripheral: Peripheral) {
        self.init(service: PeripheralService(Self.serviceUUID, on: peripheral))
    }

    /// The peripheral with the service.
    public var peripheral: Peripheral { service.peripheral }

    /// One for each service of that type that the peripheral has, in order of handles; none where it has none. Connects and
    /// discovers as needed.
    public static func all(on peripheral: Peripheral) async throws(BLEError) -> [Self] {
        try await peripheral.services().filter { $0.uuid == serviceUUID }
            .map { Self(service: PeripheralService(serviceUUID, on: peripheral, handle: $0.handle)) }
    }
}
