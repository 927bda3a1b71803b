public import BLE
import BLEBlueZ
import DBus
import Logging
import Loop

/// Another program on the bus of a fake bluetoothd, for a test of a program that is not alone: it uses the same links,
/// and takes the sockets and notifications of characteristics.
public actor OtherProgram {
    /// The methods of bluetoothd that it calls.
    public enum Method: String, CaseIterable, Sendable {
        /// Connects to a device, or uses its link.
        case connect = "Connect"
        /// Ends a link, for all programs.
        case disconnect = "Disconnect"
        /// Subscribes to a characteristic, as others may, too.
        case startNotify = "StartNotify"
        /// Ends the subscription to a characteristic, or the socket of its values, whoever has it.
        case stopNotify = "StopNotify"
        /// Takes the only socket of a characteristic's values.
        case acquireNotify = "AcquireNotify"
        /// Takes the only socket of a characteristic's writes.
        case acquireWrite = "AcquireWrite"

        /// Whether it is a method of a characteristic, not of a device.
        public var isOfCharacteristic: Bool { self != .connect && self != .disconnect }
    }

    private let daemon: FakeBlueZ
    private let session: BusSession
    private var sockets: [PacketSocket] = []

    /// Joins the bus of a daemon that runs.
    ///
    /// - Throws: `bluetoothUnavailable` if the bus does not answer.
    public init(of daemon: FakeBlueZ) async throws(BLEError) {
        self.daemon = daemon
        session = BusSession(
            loop: EventLoop(name: "other-program"),
            logger: Logger(label: "other-program") { _ in SwiftLogNoOpLogHandler() }, onSignal: { _ in }, onLoss: {})
        do throws(DBusError) {
            try await session.open(.address(daemon.address), timeout: .seconds(25))
        } catch {
            throw BLEError(.bluetoothUnavailable, "the bus cannot be used: \(error.message)")
        }
    }

    /// Calls a method, and returns when it is answered.
    ///
    /// - Parameters:
    ///   - peripheral: the device, by the id under which the daemon knows it.
    ///   - handle: the characteristic's handle, for its methods.
    ///   - adapter: the device's adapter.
    /// - Throws: `peripheralNotFound` or `characteristicNotFound` if the daemon does not have the object, and `failed`
    ///   with the daemon's text if it refuses.
    public func call(
        _ method: Method, of peripheral: DeviceID, handle: UInt16? = nil, adapter: String = "hci0"
    ) async throws(BLEError) {
        guard let device = await daemon.adapter(adapter)?.path(of: peripheral) else {
            throw BLEError(.peripheralNotFound, "bluetoothd does not know \(peripheral) on \(adapter)")
        }
        var path = device
        if method.isOfCharacteristic {
            guard let handle, let own = await daemon.adapter(adapter)?.path(of: peripheral, characteristic: handle)
            else { throw BLEError(.characteristicNotFound, "bluetoothd does not show the characteristic") }
            path = own
        }
        let takesSocket = method == .acquireNotify || method == .acquireWrite
        do throws(DBusError) {
            let reply = try await session.call(
                MethodCall(
                    BlueZ.service, path, method.isOfCharacteristic ? BlueZ.gattCharacteristic : BlueZ.device,
                    method.rawValue, takesSocket ? [.options([:])] : []),
                timeout: .seconds(25))
            for descriptor in reply.descriptors {
                let socket = PacketSocket(descriptor, on: session.loop)
                sockets.append(socket)
                // What comes is not read by anyone else.
                session.loop.perform { socket.open(onPacket: { _ in true }, onEnd: {}) }
            }
        } catch {
            throw BLEError(.failed, error.message, cause: error)
        }
    }

    /// Leaves the bus. All that it has ends: its sockets and subscriptions, and links that only it uses.
    public func leave() async {
        for socket in sockets { session.loop.perform { socket.close() } }
        sockets = []
        await session.close()
    }
}
