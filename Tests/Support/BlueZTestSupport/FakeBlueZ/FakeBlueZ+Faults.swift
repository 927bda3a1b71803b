import Testing
public import BLE
import BLEBlueZ
import BLETestSupport
package import DBus

/// What the fake daemon does wrong, or otherwise than the bluetoothd that it is like.
struct FakeFaults {
    /// Answers to the next call of a method, by its name.
    var errors: [String: DBusError] = [:]
    /// Methods that do not answer, and the calls that wait for that.
    var hanging: Set<String> = []
    var hung: [CheckedContinuation<Void, Never>] = []
    /// Whether services get resolved after a connect.
    var resolvesServices = true
    var signalsConnected = true
    /// Why a link has ended, where the daemon says so.
    var reason: (name: String, message: String)?
    var abortsConnection = false
    var hasClassicProfile = false
    var hasAgentManager = true
    var showsPacketLength = true
    /// Told instead of the link's.
    var packetLength: Int?
    /// The addresses that peripherals tell when they pair.
    var identities: [Peripheral.ID: String] = [:]
}

extension FakeBlueZ {
    // MARK: Wrong answers, and none

    /// The next call of `method` is answered with an error.
    package func fail(_ method: String, _ error: DBusError) { faults.errors[method] = error }

    /// From now on `method` is not answered, until ``release()``; with "after " before its name, it does what it is to do before.
    public func hang(_ method: String) { faults.hanging.insert(method) }

    /// Answers what hangs, and what follows.
    public func release() {
        faults.hanging = []
        faults.resolvesServices = true
        for continuation in faults.hung { continuation.resume() }
        faults.hung = []
    }

    /// Answers what follows; what hangs is not answered before ``release()``.
    public func stopHanging() { faults.hanging = [] }

    /// How many calls hang.
    public var hungCount: Int { faults.hung.count }

    /// Says of a device what the daemon would not say in this form.
    package func say(_ properties: [String: DBusValue], of id: Peripheral.ID) async {
        guard let device = devices[id] else { return }
        changed(device.path, BlueZ.device, properties)
    }

    /// Returns once a call hangs, or the task is cancelled.
    public func untilHung() async { await until { !faults.hung.isEmpty } }

    func waitWhileHanging(_ method: String) async {
        guard faults.hanging.contains(method) else { return }
        await withCheckedContinuation { continuation in
            faults.hung.append(continuation)
        }
    }

    /// Services do not get resolved after a connect any more.
    public func withholdServices() {
        faults.resolvesServices = false
        hang("ServicesResolved")
    }

    /// A connect is no longer signaled, as happens on BlueZ 5.66 when the ATT channel is up before the link is reported.
    public func omitConnectedSignal() { faults.signalsConnected = false }

    /// The next attempt to connect is interrupted: the link is reported, the attempt fails, and the end of the link is
    /// reported after that. It can be made to ``hang(_:)`` as "Disconnected".
    public func abortConnection() { faults.abortsConnection = true }

    // MARK: Other daemons, other peripherals

    /// Has a profile for Classic devices, and keeps links to them, as bluetoothd does with a keyboard.
    public func addClassicProfile() { faults.hasClassicProfile = true }

    /// Says why a link has ended, as bluetoothd does from 5.83 on.
    public func sayReason(_ name: String, _ message: String) { faults.reason = (name, message) }

    /// Has no AgentManager1, from the next start on.
    public func omitAgentManager() { faults.hasAgentManager = false }

    /// Whether `MTU` is shown, as BlueZ before 5.62 does not.
    public func setShowsPacketLength(_ showsPacketLength: Bool) { faults.showsPacketLength = showsPacketLength }

    /// Tells this packet length of every link that is made from now on.
    public func tellPacketLength(_ length: Int) { faults.packetLength = length }

    /// The peripheral has a private address, and tells this one when it pairs.
    public func setIdentity(_ address: String, of id: Peripheral.ID) { faults.identities[id] = address }
}
