public import BLE

/// A test's handle for the peripheral of the contract, and for the Bluetooth stack below the central.
///
/// The peripheral is named `Bumble HR`, has the address F0:F1:F2:F3:F4:F5, and offers the services of ``EchoStrap``.
/// Between checks, ``reset()`` restores its initial state.
public protocol ContractPeer: Sendable {
    /// The maximum time for an operation without obstacles.
    ///
    /// On a stack that may lose requests, such as a real radio, the time after which a retry helps.
    var timeout: Duration { get }
    /// Whether the stack measures the signal strength of links. False by default.
    var measuresSignalStrength: Bool { get }
    /// Some of the stack's own properties of the peripheral, while it is connected and not paired. Nil, the default, if
    /// the stack has none.
    var systemProperties: [String: SystemValue]? { get }

    /// Creates a central on the stack.
    func makeCentral(_ configuration: Central.Configuration) async throws -> Central
    /// Shuts down the central of a check that is over. By default, this is all. On a stack that takes long to end
    /// links, the peripheral may end them meanwhile.
    func shutDown(_ central: Central) async

    /// Ends the links as if the peripheral disconnected.
    func disconnect() async throws
    /// Ends the links as if the radio failed.
    func loseLink() async throws
    func setAdvertising(_ isAdvertising: Bool) async throws
    /// Sets the signal strength of the peripheral's advertisements, in dBm; nil if unknown.
    func setStrength(_ strength: Int?) async throws
    /// Notifies a value on the echo output.
    func notify(_ value: [UInt8]) async throws
    /// Sends `count` values on the echo output. Each begins with its number from 0, in 32 bits, little-endian.
    func burst(count: Int, length: Int) async throws
    /// Returns the value last written to the echo service.
    func written() async throws -> [UInt8]
    /// Holds requests for the slow characteristic from now on.
    func hold() async throws
    /// Answers the held requests and all later ones.
    func release() async throws
    /// Replaces the services of the peripheral, and tells the connected centrals that they have changed (Service
    /// Changed).
    func setServices(_ services: PeerServices) async throws
    /// Sets the pairing method of the peripheral.
    func setPairing(_ pairing: PeerPairing) async throws
    /// Enters a number as the peripheral's user, for ``PeerPairing/keyboard``.
    func enter(_ passkey: Passkey) async throws
    /// Returns when a request to pair has reached the peripheral.
    func untilAskedToPair() async throws
    /// Returns the number of bonds that the peripheral has.
    func bonds() async throws -> Int
    /// Removes the peripheral's bonds. The machine keeps its half.
    func loseBonds() async throws
    /// Restores the initial state, with the original services, and without a bond on the peripheral's side.
    func reset() async throws
    /// Returns when the peripheral has the given number of links.
    func until(connections: Int) async throws
    /// Returns when the given number of centrals have enabled the notifications of the echo output.
    func until(subscribers: Int) async throws
    /// Returns when a request is held at the slow characteristic.
    func untilHeld() async throws

    /// Stops the notifications of the echo output as another program, given the handles of its service and its
    /// characteristic.
    func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async throws

    /// Kills the Bluetooth service.
    func stopBluetooth() async throws
    /// Restarts the Bluetooth service, with the adapter on and no link. The kernel keeps links for 2 s after their
    /// bluetoothd has died, and a bluetoothd that starts meanwhile takes over these links.
    func restartBluetooth() async throws
    func setPowered(_ isPowered: Bool) async throws
    /// Blocks the adapter, like a kill switch, or unblocks it, which switches it on if it was on before.
    func setBlocked(_ isBlocked: Bool) async throws
    /// Unplugs the adapter. Its links time out.
    func unplug() async throws
    /// Plugs in the adapter, powered on.
    func plug() async throws
}

/// What a stack may lack, and may not need.
extension ContractPeer {
    public var measuresSignalStrength: Bool { false }
    public var systemProperties: [String: SystemValue]? { nil }
    public func shutDown(_ central: Central) async { await central.shutDown() }
}

/// The pairing methods of the contract's peripheral.
public enum PeerPairing: String, Sendable {
    case justWorks = "just-works"
    /// The peripheral displays ``EchoStrap/passkey``.
    case display
    /// The peripheral's user enters a number.
    case keyboard
    /// The peripheral's user confirms that the numbers are equal.
    case comparison = "compare"
    case rejected = "reject"
    /// The peripheral does not answer.
    case unanswered = "silent"
}

/// The services of the contract's peripheral.
public enum PeerServices: String, Sendable {
    case original
    /// ``EchoStrap/addedService`` follows the others.
    case added
    /// Without the echo service and what it includes, which are the last of the original ones.
    case removed
    /// ``EchoStrap/addedService`` precedes the echo service and what that includes, whose handles change.
    case moved
}

/// The identity and the attributes of the contract's peripheral.
public enum EchoStrap {
    public static let name = "Bumble HR"
    public static let id: Peripheral.ID = "F0:F1:F2:F3:F4:F5"
    public static let service = uuid(1)
    /// Accepts writes, with and without response.
    public static let input = Characteristic(uuid(2), service: service)
    /// Returns the last written value; notifies and indicates.
    public static let output = Characteristic(uuid(3), service: service)
    /// Readable only on an encrypted link.
    public static let secret = Characteristic(uuid(4), service: service)
    /// Answers requests only after it is released.
    public static let slow = Characteristic(uuid(5), service: service)
    /// The type of two characteristics that read as "first" and "second".
    public static let twin = Characteristic(uuid(6), service: service)
    /// Returns the written value; accepts reliable writes and writes at an offset. Has a user description and a
    /// presentation format.
    public static let note = Characteristic(uuid(7), service: service)
    /// Indicates 0x20 and the written value. If the value begins with 0xEE, it first indicates 0xEE alone; if it begins
    /// with 0xFF, it does not answer.
    public static let controlPoint = Characteristic(uuid(8), service: service)
    /// The secondary service that ``service`` includes.
    public static let included = uuid(0x10)
    /// A characteristic of ``included`` that reads as "included".
    public static let extra = Characteristic(uuid(0x11), service: included)
    /// A service that the peripheral has in some ``PeerServices``.
    public static let addedService = uuid(0x20)
    /// The characteristic of ``addedService``, which reads as "added".
    public static let addition = Characteristic(uuid(0x21), service: addedService)
    /// The presentation format of ``note``.
    public static let noteFormat = PresentationFormat(
        format: .utf8, exponent: 0, unit: BluetoothUUID(0x2700), description: 3)
    /// The ATT MTU of a link to the strap.
    public static let packetLength = 247

    /// The properties of the peripheral on a stack that names them as bluetoothd does, while it is connected and not
    /// paired.
    public static let systemProperties: [String: SystemValue] = [
        "Address": .text(id.rawValue), "Connected": .boolean(true), "Paired": .boolean(false),
    ]

    /// A channel that returns each packet.
    public static let echoChannel: PSM = 0x0080
    /// A channel that accepts requests: a number of packets (32 bits) and their length (16 bits), little-endian. It
    /// then sends that number of packets, each of which begins with its number from 0, in 32 bits. Any other packet
    /// closes the channel.
    public static let burstChannel: PSM = 0x0082
    /// A channel whose packets are never read.
    public static let stalledChannel: PSM = 0x0083
    /// The maximum length of a packet that the channels receive, in bytes.
    public static let channelLength = 512

    /// Readable only on an authenticated link.
    public static let sealed = Characteristic(uuid(9), service: service)
    /// The passkey that the peripheral displays.
    public static let passkey = Passkey(123456)!

    private static func uuid(_ number: UInt64) -> BluetoothUUID {
        BluetoothUUID(high: 0x6E40_0000_B5A3_F393 | number << 32, low: 0xE0A9_E50E_24DC_CA9E)
    }
}
