public import BLE

/// The test's grip on the peripheral that a contract is checked with, and on the Bluetooth stack below the central.
///
/// The peripheral is called `Bumble HR`, at F0:F1:F2:F3:F4:F5, with the services of ``EchoStrap``. Between checks it is
/// brought back to its beginning with ``reset()``.
public protocol ContractPeer: Sendable {
    /// How long an operation may take that nothing stands in the way of.
    ///
    /// On a stack that may lose what it was asked for, as radios do: after how long asking again helps.
    var timeout: Duration { get }

    /// A new central on the stack.
    func makeCentral(_ configuration: Central.Configuration) async throws -> Central

    /// Ends the links as a remote user does.
    func disconnect() async throws
    /// Ends the links as a failing radio does.
    func loseLink() async throws
    func setAdvertising(_ isAdvertising: Bool) async throws
    /// How strong its advertisements are heard from now on, in dBm; nil for where that is not known.
    func setStrength(_ strength: Int?) async throws
    /// Notifies a value on the echo output.
    func notify(_ value: [UInt8]) async throws
    /// Sends so many values on the echo output, each beginning with its number from 0 in 32 bits, little-endian.
    func burst(count: Int, length: Int) async throws
    /// What was written to the echo service last.
    func written() async throws -> [UInt8]
    /// Requests for the slow characteristic wait from now on.
    func hold() async throws
    /// Answers what waits, and what follows.
    func release() async throws
    /// How the peripheral pairs from now on.
    func setPairing(_ pairing: PeerPairing) async throws
    /// The peripheral's user enters a number, for ``PeerPairing/keyboard``.
    func enter(_ passkey: Passkey) async throws
    /// Returns once a request to pair has reached the peripheral.
    func untilAskedToPair() async throws
    /// How many bonds the peripheral has.
    func bonds() async throws -> Int
    /// The peripheral loses its bonds; the machine keeps its half.
    func loseBonds() async throws
    /// Back to the beginning, without a bond on the peripheral's side.
    func reset() async throws
    /// Returns once the peripheral has so many links.
    func until(connections: Int) async throws
    /// Returns once so many centrals have the notifications of the echo output on.
    func until(subscribers: Int) async throws
    /// Returns once something waits at the slow characteristic.
    func untilHeld() async throws

    /// Another program stops the notifications of the echo output. These are its service's and its own handle.
    func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async throws

    /// Kills the Bluetooth service.
    func stopBluetooth() async throws
    /// Starts it again, with the adapter on and no link. (The kernel holds links for 2 s after their bluetoothd has died;
    /// one that starts meanwhile takes them over.)
    func restartBluetooth() async throws
    func setPowered(_ isPowered: Bool) async throws
    /// Takes the adapter out; its links run into their timeouts.
    func unplug() async throws
    /// Puts the adapter back, switched on.
    func plug() async throws
}

/// How the contract's peripheral pairs.
public enum PeerPairing: String, Sendable {
    case justWorks = "just-works"
    /// It shows ``EchoStrap/passkey``.
    case display
    /// It wants a number entered.
    case keyboard
    /// It finds that the numbers are the same.
    case comparison = "compare"
    case rejected = "reject"
    /// It does not answer.
    case unanswered = "silent"
}

/// The identities of the contract's peripheral.
public enum EchoStrap {
    public static let name = "Bumble HR"
    public static let id = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")
    public static let service = uuid(1)
    /// Takes what is written, with and without response.
    public static let input = Characteristic(uuid(2), service: service)
    /// Reads as what was written last; notifies and indicates.
    public static let output = Characteristic(uuid(3), service: service)
    /// Readable on an encrypted link only.
    public static let secret = Characteristic(uuid(4), service: service)
    /// Answers no request until it is released.
    public static let slow = Characteristic(uuid(5), service: service)
    /// The type of two characteristics that read as "first" and "second".
    public static let twin = Characteristic(uuid(6), service: service)
    /// Reads as what was written; takes reliable writes and writes at an offset. Has a user description and a presentation
    /// format.
    public static let note = Characteristic(uuid(7), service: service)
    /// Indicates 0x20 and what was written to it. What begins with 0xEE is announced by the value EE before that, what begins
    /// with 0xFF gets no answer.
    public static let controlPoint = Characteristic(uuid(8), service: service)
    /// The secondary service that ``service`` includes.
    public static let included = uuid(0x10)
    /// A characteristic of ``included`` that reads as "included".
    public static let extra = Characteristic(uuid(0x11), service: included)
    /// The presentation format of ``note``.
    public static let noteFormat = PresentationFormat(
        format: .utf8, exponent: 0, unit: BluetoothUUID(0x2700), description: 3)
    /// The longest packet that a link to the strap carries.
    public static let packetLength = 247

    /// Readable on a link that was authenticated only.
    public static let sealed = Characteristic(uuid(9), service: service)
    /// What it shows when it pairs with a display.
    public static let passkey = Passkey(123456)!

    private static func uuid(_ number: UInt64) -> BluetoothUUID {
        BluetoothUUID(high: 0x6E40_0000_B5A3_F393 | number << 32, low: 0xE0A9_E50E_24DC_CA9E)
    }
}
