public import BLE

/// Asks an application with Nordic's Secure DFU service to start its bootloader, with which ``SecureDFU`` transfers
/// firmware.
///
/// Without bonds, the bootloader has another address, the application's plus 1, and advertises the same service.
public struct ButtonlessDFU: Profile {
    /// 0xFE59.
    public static let serviceUUID = BluetoothUUID.secureDFU
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) { self.service = service }

    static let responseOpcode: UInt8 = 0x20
    static let enter: UInt8 = 0x01
    static let setName: UInt8 = 0x02

    /// Starts the bootloader. The device answers, and then ends the link.
    ///
    /// Throws `procedureFailed` if the application refuses (``BLE/BLEError/result(_:)`` with ``ButtonlessDFUResult``),
    /// and the errors of connecting, subscribing and writing.
    public func enterBootloader() async throws(BLEError) { try await perform(Self.enter) }

    /// Sets the name that the bootloader advertises: 1 to 20 bytes of UTF-8.
    ///
    /// Throws `invalidArgument` for another length, and otherwise what ``enterBootloader()`` throws.
    public func setName(_ name: String) async throws(BLEError) {
        let bytes = Array(name.utf8)
        guard (1...20).contains(bytes.count) else {
            throw BLEError(.invalidArgument, "a name has 1 to 20 bytes, not \(bytes.count)", isRetryable: false)
        }
        try await perform(Self.setName, [UInt8(bytes.count)] + bytes)
    }

    private func perform(_ opcode: UInt8, _ parameter: [UInt8] = []) async throws(BLEError) {
        let bonded = Characteristic<[UInt8]>(.bondedButtonlessDFU)
        let isBonded = try await service.characteristic(bonded) != nil
        let point = ControlPoint<ButtonlessDFUResult>(
            isBonded ? .bondedButtonlessDFU : .buttonlessDFU, of: service, responseOpcode: Self.responseOpcode)
        try await point.perform(opcode, parameter)
    }

    /// Returns the service of an application that starts its bootloader, for a definition. It has the control point for
    /// centrals without a bond.
    ///
    /// - Parameters:
    ///   - security: the security of the link that requests need. By default none: any central may start the
    ///     bootloader.
    ///   - onName: takes the name for the bootloader, 1 to 20 bytes of UTF-8. If it throws, the request is answered
    ///     with ``ButtonlessDFUResult/failed``. Nil if the name cannot be set.
    ///   - onEnter: starts the bootloader, after the answer was sent. The end of the link does not cancel it. If it
    ///     throws, the central's subscription ends.
    public static func service(
        security: AttributeSecurity = .open, onName: (@Sendable (String) async throws -> Void)? = nil,
        onEnter: @escaping @Sendable () async throws -> Void
    ) -> ServiceDefinition {
        let point = CharacteristicDefinition.controlPoint(
            .buttonlessDFU, security: security, responseOpcode: responseOpcode, failure: ButtonlessDFUResult.failed
        ) { request in
            switch request.opcode {
            case enter:
                // A central may end its link at once, which cancels this request's task.
                return .success { _ in try await Task { try await onEnter() }.value }
            case setName:
                guard let onName else { return .result(.notSupported) }
                let name = request.parameter.dropFirst()
                guard (1...20).contains(name.count), request.parameter.first.map(Int.init) == name.count else {
                    return .result(.invalidName)
                }
                try await onName(String(decoding: name, as: UTF8.self))
                return .success()
            default: return .result(.notSupported)
            }
        }
        return ServiceDefinition(.secureDFU, characteristics: [point])
    }
}
