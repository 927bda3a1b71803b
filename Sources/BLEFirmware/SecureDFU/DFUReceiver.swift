internal import BLE

/// The objects that a bootloader has received.
struct DFUReceiver: Sendable {
    /// What follows a request.
    enum Step: Hashable, Sendable {
        /// The response is sent.
        case respond(DFUResult, [UInt8] = [])
        /// The init packet is validated; ``DFUReceiver/didValidate(_:firmwareSize:)`` returns the result.
        case validate([UInt8])
        /// The firmware is complete, and is installed; ``DFUReceiver/didInstall(isSuccess:)`` returns the result.
        case install(initPacket: [UInt8], firmware: [UInt8])
    }

    /// The maximum size of an init packet and of a part of the firmware, in bytes, as in the nRF5 SDK.
    static let maximumCommandSize = 512, maximumDataSize = 4096

    private var command: [UInt8] = []
    private var commandSize = 0
    /// The size of the firmware, which a valid init packet tells. Nil before it was executed.
    private var firmwareSize: Int?
    /// What was executed of the firmware.
    private var firmware: [UInt8] = []
    private var firmwareChecksum: UInt32 = 0
    /// The part that is received.
    private var part: [UInt8] = []
    private var partSize = 0
    private var selected = DFUObjectType.command
    private var receiptInterval = 0
    private var packets = 0

    private var state: DFUObjectState {
        switch selected {
        case .command:
            DFUObjectState(
                maximumSize: Self.maximumCommandSize, offset: command.count, checksum: CRC32.checksum(command[...]))
        case .data:
            DFUObjectState(
                maximumSize: Self.maximumDataSize, offset: firmware.count + part.count,
                checksum: CRC32.checksum(part[...], after: firmwareChecksum))
        }
    }

    /// Handles a request, which has at least an opcode.
    mutating func handle(_ opcode: UInt8, _ parameter: [UInt8]) -> Step {
        switch opcode {
        case DFUOpcode.create:
            guard parameter.count == 5 else { return .respond(.invalidParameter) }
            return create(parameter[0], size: Int(parameter[1...].littleEndian))
        case DFUOpcode.setReceipts:
            guard parameter.count == 2 else { return .respond(.invalidParameter) }
            receiptInterval = Int(parameter.littleEndian)
            packets = 0
            return .respond(.success)
        case DFUOpcode.checksum: return .respond(.success, state.bytes)
        case DFUOpcode.execute: return execute()
        case DFUOpcode.select:
            guard parameter.count == 1 else { return .respond(.invalidParameter) }
            guard let type = DFUObjectType(rawValue: parameter[0]) else { return .respond(.unsupportedType) }
            selected = type
            return .respond(.success, UInt32(state.maximumSize).littleEndianBytes + state.bytes)
        default: return .respond(.notSupported)
        }
    }

    private mutating func create(_ type: UInt8, size: Int) -> Step {
        packets = 0
        switch DFUObjectType(rawValue: type) {
        case .command?:
            guard size > 0 else { return .respond(.invalidParameter) }
            guard size <= Self.maximumCommandSize else { return .respond(.insufficientResources) }
            selected = .command
            (command, commandSize, firmwareSize) = ([], size, nil)
            (firmware, firmwareChecksum, part, partSize) = ([], 0, [], 0)
            return .respond(.success)
        case .data?:
            guard let firmwareSize else { return .respond(.notPermitted) }
            guard size > 0 else { return .respond(.invalidParameter) }
            guard size <= Self.maximumDataSize, size <= firmwareSize - firmware.count else {
                return .respond(.insufficientResources)
            }
            selected = .data
            (part, partSize) = ([], size)
            return .respond(.success)
        case nil: return .respond(.unsupportedType)
        }
    }

    private mutating func execute() -> Step {
        switch selected {
        case .command:
            guard commandSize > 0, command.count == commandSize else { return .respond(.notPermitted) }
            return firmwareSize != nil ? .respond(.success) : .validate(command)
        case .data:
            guard partSize > 0, part.count == partSize else { return .respond(.notPermitted) }
            firmwareChecksum = CRC32.checksum(part[...], after: firmwareChecksum)
            firmware += part
            (part, partSize) = ([], 0)
            return firmware.count == firmwareSize
                ? .install(initPacket: command, firmware: firmware) : .respond(.success)
        }
    }

    /// Records that an init packet was validated, and returns the result.
    ///
    /// - Parameter firmwareSize: the size of the firmware that it describes, in bytes. Nil if it is not valid.
    mutating func didValidate(_ initPacket: [UInt8], firmwareSize: Int?) -> DFUResult {
        // Another one may have begun meanwhile.
        guard command == initPacket else { return .notPermitted }
        self.firmwareSize = firmwareSize
        return firmwareSize == nil ? .invalidObject : .success
    }

    /// Records that the firmware was installed, and returns the result. Everything begins anew.
    mutating func didInstall(isSuccess: Bool) -> DFUResult {
        self = DFUReceiver()
        return isSuccess ? .success : .invalidObject
    }

    /// Takes a packet. Returns the receipt that is due.
    ///
    /// More than an object's size is discarded, as its checksum then tells.
    mutating func receive(_ packet: [UInt8]) -> [UInt8]? {
        switch selected {
        case .command: command += packet.prefix(commandSize - command.count)
        case .data: part += packet.prefix(partSize - part.count)
        }
        packets += 1
        guard receiptInterval > 0, packets % receiptInterval == 0 else { return nil }
        return [DFUOpcode.response, DFUOpcode.checksum, DFUResult.success.rawValue] + state.bytes
    }
}
