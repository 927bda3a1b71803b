/// A packet of the kernel's management interface (BlueZ's `doc/mgmt-protocol.rst`).
enum ManagementPacket: Equatable {
    /// An LE advertisement was received, in an active scan of whichever program.
    case advertisement(ReceivedAdvertisement)
    /// The answer to a command.
    case answer(ManagementCommand, ManagementStatus)
    /// A discovery has begun or ended, of whichever program.
    case discovering(Bool)
    /// A link was made, or could not be made.
    case linkChanged
    /// An event that is not used here, or a packet that is malformed.
    case other

    enum Event {
        static let commandComplete: UInt16 = 0x0001
        static let commandStatus: UInt16 = 0x0002
        static let deviceConnected: UInt16 = 0x000B
        static let connectFailed: UInt16 = 0x000D
        static let deviceFound: UInt16 = 0x0012
        static let discovering: UInt16 = 0x0013
    }

    /// The length of the header: the event, the adapter and the length of the parameters.
    private static let headerLength = 6
    /// The length of the parameters of `Device Found` before the data: the address, its type, the strength, flags and
    /// the length of the data.
    private static let foundLength = 14

    init(_ bytes: [UInt8]) {
        self = .other
        guard bytes.count >= Self.headerLength, Self.number(bytes, at: 4) == bytes.count - Self.headerLength else {
            return
        }
        let event = UInt16(Self.number(bytes, at: 0))
        switch event {
        case Event.deviceFound:
            let start = Self.headerLength + Self.foundLength
            guard bytes.count >= start, Self.number(bytes, at: start - 2) == bytes.count - start else { return }
            // 0 is a Classic device, whose data is that of an inquiry.
            let type = bytes[12]
            guard type == 1 || type == 2 else { return }
            var address: UInt64 = 0
            for octet in bytes[6..<12].reversed() { address = address << 8 | UInt64(octet) }
            self = .advertisement(
                ReceivedAdvertisement(
                    adapter: UInt16(Self.number(bytes, at: 2)),
                    sender: ReceivedAdvertisement.Sender(address: address, isRandom: type == 2),
                    rssi: Int8(bitPattern: bytes[13]), data: bytes[start...]))
        case Event.commandStatus, Event.commandComplete:
            // *Command Complete* also tells of failures, and has results after the status.
            let length = Self.headerLength + 3
            guard event == Event.commandStatus ? bytes.count == length : bytes.count >= length,
                let command = ManagementCommand(rawValue: UInt16(Self.number(bytes, at: Self.headerLength)))
            else { return }
            self = .answer(command, ManagementStatus(rawValue: bytes[Self.headerLength + 2]))
        case Event.discovering:
            guard bytes.count == Self.headerLength + 2 else { return }
            self = .discovering(bytes[Self.headerLength + 1] != 0)
        case Event.deviceConnected, Event.connectFailed: self = .linkChanged
        default: break
        }
    }

    /// Returns the number of the adapter of a packet; nil if the packet is too short.
    static func adapter(of bytes: [UInt8]) -> UInt16? {
        bytes.count >= headerLength ? UInt16(number(bytes, at: 2)) : nil
    }

    /// Returns the number of 16 bits at a position, which has to exist.
    private static func number(_ bytes: [UInt8], at position: Int) -> Int {
        Int(bytes[position]) | Int(bytes[position + 1]) << 8
    }
}

/// An LE advertisement as the kernel reports it.
struct ReceivedAdvertisement: Equatable {
    /// An address and its type.
    struct Sender: Hashable {
        /// The identity address, if the kernel has the key of the device.
        let address: UInt64
        let isRandom: Bool
    }

    /// The number of the adapter that received it: 0 for `hci0`.
    var adapter: UInt16
    var sender: Sender
    /// In dBm; 127 if it is not known.
    var rssi: Int8
    /// The advertising data, followed by that of the scan response.
    var data: ArraySlice<UInt8>
}

/// The commands that this package sends over the management interface.
enum ManagementCommand: UInt16 {
    case stopDiscovery = 0x0024
    /// Starts a discovery that reports each packet: the kernel does not have controllers omit those of a device that
    /// they have reported, as it does in *Start Discovery* with some.
    case startServiceDiscovery = 0x003A

    /// The types of addresses of LE: public and random.
    private static let le: UInt8 = 0x06

    /// Returns the command for an adapter.
    func packet(adapter: UInt16) -> [UInt8] {
        let parameters: [UInt8] =
            switch self {
            case .stopDiscovery: [Self.le]
            // Of any signal strength, and for any services.
            case .startServiceDiscovery: [Self.le, 127, 0, 0]
            }
        let header = [rawValue, adapter, UInt16(parameters.count)].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        return header + parameters
    }
}

/// The status with which the kernel answers a command.
struct ManagementStatus: RawRepresentable, Equatable {
    var rawValue: UInt8

    static let success = Self(rawValue: 0x00)
    static let unknownCommand = Self(rawValue: 0x01)
    static let busy = Self(rawValue: 0x0A)
    static let notSupported = Self(rawValue: 0x0C)
    static let notPowered = Self(rawValue: 0x0F)
    static let invalidIndex = Self(rawValue: 0x11)
    static let permissionDenied = Self(rawValue: 0x14)
}
