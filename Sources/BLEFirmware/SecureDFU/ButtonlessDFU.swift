public import BLE

/// The result codes of an application that starts its bootloader (nRF5 SDK 17, `ble_dfu_buttonless_rsp_code_t`).
public struct ButtonlessDFUResult: ControlPointResult {
    /// The code as sent over the air.
    public let rawValue: UInt8
    /// Creates a result from its code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The request was performed.
    public static let success = ButtonlessDFUResult(rawValue: 1)
    /// There is no such opcode.
    public static let notSupported = ButtonlessDFUResult(rawValue: 2)
    /// The request failed.
    public static let failed = ButtonlessDFUResult(rawValue: 4)
    /// The name is not valid.
    public static let invalidName = ButtonlessDFUResult(rawValue: 5)
    /// The device is busy.
    public static let busy = ButtonlessDFUResult(rawValue: 6)
    /// The central is not bonded.
    public static let notBonded = ButtonlessDFUResult(rawValue: 7)

    /// A short description.
    public var meaning: String? {
        switch self {
        case .success: "success"
        case .notSupported: "the opcode is not supported"
        case .failed: "the operation failed"
        case .invalidName: "the name is not valid"
        case .busy: "the device is busy"
        case .notBonded: "the central is not bonded"
        default: nil
        }
    }
}

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
    public func enterBootloader() async throws(BLEError) { try await perform(Self.enter) }

    /// Sets the name that the bootloader advertises: 1 to 20 bytes of UTF-8.
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

    /// Returns the service of a device that can be asked, for a definition.
    ///
    /// - Parameters:
    ///   - onName: takes the name for the bootloader. Nil if it cannot be set.
    ///   - onEnter: starts the bootloader, after the answer was sent.
    public static func definition(
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
