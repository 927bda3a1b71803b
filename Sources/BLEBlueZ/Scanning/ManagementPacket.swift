/// A packet of the kernel's management interface (BlueZ's `doc/mgmt-protocol.rst`).
enum ManagementPacket: Equatable {
    /// An LE advertisement was received, in an active scan of whichever program.
    case advertisement(ReceivedAdvertisement)
    /// A command was refused.
    case refused(ManagementCommand, ManagementStatus)
    /// An event that is not used here, or a packet that is malformed.
    case other

    private enum Event {
        static let commandStatus: UInt16 = 0x0002
        static let deviceFound: UInt16 = 0x0012
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
        switch UInt16(Self.number(bytes, at: 0)) {
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
        case Event.commandStatus:
            guard bytes.count == Self.headerLength + 3,
                let command = ManagementCommand(rawValue: UInt16(Self.number(bytes, at: Self.headerLength)))
            else { return }
            self = .refused(command, ManagementStatus(rawValue: bytes[Self.headerLength + 2]))
        default: break
        }
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
    case getConnections = 0x0015

    /// The command for no adapter, without parameters.
    var packet: [UInt8] { [UInt8(rawValue & 0xFF), UInt8(rawValue >> 8), 0xFF, 0xFF, 0, 0] }
}

/// The status with which the kernel answers a command.
struct ManagementStatus: RawRepresentable, Equatable {
    var rawValue: UInt8

    static let invalidIndex = Self(rawValue: 0x11)
    static let permissionDenied = Self(rawValue: 0x14)
}
