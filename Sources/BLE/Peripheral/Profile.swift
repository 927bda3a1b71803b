/// A type that provides access to one service, in the terms of its specification.
///
/// ```swift
/// extension Characteristic where Value == UInt8 {
///     static var fanSpeed: Self { Characteristic(BluetoothUUID(0xFF01)) }
/// }
///
/// struct Fan: Profile {
///     static let serviceUUID = BluetoothUUID(0xFF00)
///     let service: PeripheralService
///
///     func speed() async throws(BLEError) -> UInt8 { try await service.read(.fanSpeed) }
/// }
/// let speed = try await Fan(peripheral).speed()
/// ```
///
/// See `Docs/WritingAProfile.md` for a complete example.
public protocol Profile: Sendable {
    /// The service's type, which is used to find peripherals with the service.
    static var serviceUUID: BluetoothUUID { get }
    /// How peripherals with the service are recognized. By default, they advertise it.
    static var discovery: DiscoveryCriteria { get }
    /// The service that the profile uses.
    var service: PeripheralService { get }
    /// Creates a profile for a service. Nothing is sent yet.
    init(service: PeripheralService)
}

extension Profile {
    /// Peripherals that advertise the service.
    public static var discovery: DiscoveryCriteria { .service(serviceUUID) }

    /// Creates a profile for the peripheral's service, the first if there are several. Nothing is sent yet.
    public init(_ peripheral: Peripheral) {
        self.init(service: PeripheralService(Self.serviceUUID, on: peripheral))
    }

    /// The peripheral with the service.
    public var peripheral: Peripheral { service.peripheral }

    /// Returns a profile for each service of this type on the peripheral, in order of handles. Empty if there is none.
    /// Connects and discovers services if necessary.
    public static func all(on peripheral: Peripheral) async throws(BLEError) -> [Self] {
        try await peripheral.services().filter { $0.uuid == serviceUUID }
            .map { Self(service: PeripheralService(serviceUUID, on: peripheral, handle: $0.handle)) }
    }
}
