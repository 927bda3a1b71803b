public import BLE
import BLEBlueZ
package import DBus

/// The fake daemon's faults, and its differences from the bluetoothd that it imitates.
struct FakeFaults {
    /// Answers to the next calls of a method, by its name, and how many calls get each.
    private var errors: [String: [(error: DBusError, count: Int)]] = [:]
    /// Methods that do not answer, and their calls that wait.
    var hanging: Set<String> = []
    var hung: [CheckedContinuation<Void, Never>] = []
    /// Whether services are resolved after a connect.
    var resolvesServices = true
    var signalsConnected = true
    /// The reason that the daemon reports for the end of a link.
    var reason: (name: String, message: String)?
    var abortsConnection = false
    var hearsWhileSwitchingOff = false
    var hasClassicProfile = false
    var hasAgentManager = true
    var showsPacketLength = true
    /// Shown instead of the link's packet length.
    var packetLength: Int?
    /// The identity addresses that peripherals distribute when they pair.
    var identities: [Peripheral.ID: String] = [:]

    mutating func add(_ error: DBusError, to method: String, count: Int = 1) {
        if count > 0 { errors[method, default: []].append((error, count)) }
    }

    mutating func takeError(of method: String) -> DBusError? {
        guard let (error, count) = errors[method]?.first else { return nil }
        if count > 1 { errors[method]?[0].count -= 1 } else { errors[method]?.removeFirst() }
        return error
    }
}

extension FakeBlueZ {
    // MARK: Wrong answers, and none

    /// The names of the methods that it has, which it can refuse and not answer.
    public static let methods = Set(Interfaces.all.flatMap(\.methodNames) + ["Set"])

    /// The next call of `method`, after those that will already fail, is answered with an error.
    package func fail(_ method: String, _ error: DBusError) { onAll { $0.faults.add(error, to: method) } }

    /// The same for all adapters of the daemon.
    func onAll(_ body: @Sendable (isolated FakeBlueZ) -> Void) {
        body(self)
        for other in others.values { other.assumeIsolated { body($0) } }
    }

    /// The next calls of a method are answered with an error instead of being carried out, after those that will
    /// already fail.
    ///
    /// - Parameters:
    ///   - method: the method's name, such as `Connect`.
    ///   - error: the error's name, such as `org.bluez.Error.Failed`.
    ///   - count: the number of calls, 0 or more.
    /// - Throws: `invalidArgument` if bluetoothd has no such method, D-Bus does not allow the name, the message has a
    ///   zero byte, or the number is negative.
    public func refuse(
        _ method: String, with error: String, _ message: String, count: Int = 1
    ) throws(BLEError) {
        guard Self.methods.contains(method) else {
            throw BLEError(.invalidArgument, "bluetoothd has no method \"\(method.prefix(255))\"")
        }
        guard DBusError.isName(error) else {
            throw BLEError(
                .invalidArgument, "\"\(error.prefix(255))\" is not the name of an error",
                remedy: "Use a name of at most 255 bytes, such as org.bluez.Error.Failed.")
        }
        guard !message.utf8.contains(0) else { throw BLEError(.invalidArgument, "a message cannot have a zero byte") }
        guard count >= 0 else { throw BLEError(.invalidArgument, "\(count) is not a number of calls") }
        onAll { $0.faults.add(.remote(error, message), to: method, count: count) }
    }

    /// From now on, `method` is not answered until ``release()``. With "after " before its name, it is carried out
    /// first.
    public func hang(_ method: String) { onAll { $0.faults.hanging.insert(method) } }

    /// Answers the calls that hang, and later ones.
    public func release() {
        onAll { daemon in
            daemon.faults.hanging = []
            daemon.faults.resolvesServices = true
            for continuation in daemon.faults.hung { continuation.resume() }
            daemon.faults.hung = []
        }
    }

    /// Answers what follows; what hangs is not answered before ``release()``.
    public func stopHanging() { onAll { $0.faults.hanging = [] } }

    /// How many calls hang.
    public var hungCount: Int { faults.hung.count }

    /// Signals properties of a device that the daemon would not signal in this form.
    package func say(_ properties: [String: DBusValue], of id: Peripheral.ID) async {
        guard let device = devices[id] else { return }
        changed(device.path, BlueZ.device, properties)
    }

    func waitWhileHanging(_ method: String) async {
        guard faults.hanging.contains(method) else { return }
        await withCheckedContinuation { continuation in
            faults.hung.append(continuation)
        }
    }

    /// From now on, services are not resolved after a connect.
    public func withholdServices() {
        faults.resolvesServices = false
        hang("ServicesResolved")
    }

    /// From now on, a connect is not signaled, as happens with BlueZ 5.66 when the ATT channel is up before the link is
    /// reported.
    public func omitConnectedSignal() { faults.signalsConnected = false }

    /// Interrupts the next attempt to connect: the link is reported, the attempt fails, and then the end of the link is
    /// reported. That report can be made to ``hang(_:)`` as "Disconnected".
    public func abortConnection() { faults.abortsConnection = true }

    /// From now on, the devices in range are heard again after the daemon has removed them in order to switch the
    /// adapter off, and before it is off, as now and then with BlueZ.
    public func hearWhileSwitchingOff() { faults.hearsWhileSwitchingOff = true }

    // MARK: Other daemons, other peripherals

    /// Has a profile for Classic devices, and keeps links to them, as bluetoothd does with a keyboard.
    public func addClassicProfile() { faults.hasClassicProfile = true }

    /// Reports why a link has ended, as bluetoothd does from 5.83 on.
    public func sayReason(_ name: String, _ message: String) { faults.reason = (name, message) }

    /// The daemon has no AgentManager1, from the next start on.
    public func omitAgentManager() { faults.hasAgentManager = false }

    /// Whether `MTU` is shown, as BlueZ before 5.62 does not.
    public func setShowsPacketLength(_ showsPacketLength: Bool) { faults.showsPacketLength = showsPacketLength }

    /// Shows this packet length for every link that is made from now on.
    public func tellPacketLength(_ length: Int) { faults.packetLength = length }

    /// The peripheral has a private address, and distributes this identity address when it pairs.
    public func setIdentity(_ address: String, of id: Peripheral.ID) { faults.identities[id] = address }
}
