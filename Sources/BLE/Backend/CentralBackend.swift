/// A Bluetooth stack in the central role, at the level of GATT operations.
///
/// The central implements all policy, not the backend: sharing, filtering and staleness of scans, sharing of
/// connections, deadlines, order of operations, buffering and reconnection. The central runs on its backend's executor,
/// so that an event reaches it without a hop. Therefore, a backend must never block.
///
/// Every operation ends early if its task is cancelled, or if the link, the peripheral or the stack is lost. Errors
/// need not name the peripheral or the attribute; the central adds them. What a stack may lack has a default that
/// throws `notSupported`. All backends pass one contract suite, in the module `BLEBackendTesting`.
public protocol CentralBackend: Actor {
    /// What the stack allows.
    nonisolated var limits: CentralLimits { get }

    /// Measures deadlines and staleness, unless the central's configuration has a clock of its own. By default, the
    /// continuous clock.
    nonisolated var clock: any Clock<Duration> { get }

    /// The backend's thread as a task executor: tasks that prefer it get what the central delivers without a switch
    /// between threads. They must not block. Nil, the default, if there is none.
    nonisolated var taskExecutor: (any TaskExecutor)? { get }

    /// Whether the caller runs on the executor that `unownedExecutor` is, so that it can enter the backend without a
    /// switch. False, the default, if that is not known: to say so wrongly is a data race.
    nonisolated var isCurrent: Bool { get }

    /// Connects to the stack. Called before anything else, and again only if it has thrown.
    ///
    /// Throws `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`.
    func start(_ context: CentralContext) async throws(BLEError)

    /// Stops scanning, ends the subscriptions and the remaining links, and disconnects from the stack. Called once,
    /// last.
    func shutDown() async

    /// The state of the adapter in use.
    func adapterState() -> AdapterState

    /// All adapters, in order of their ids.
    func adapters() async throws(BLEError) -> [Adapter]

    /// Powers an adapter, or with nil the one in use, on or off. Returns when its state has changed.
    ///
    /// Throws `adapterNotFound`, `blocked` or `unauthorized`.
    func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError)

    /// Sets the name that an adapter, or with nil the one in use, shows to other devices. Returns when the name has
    /// changed.
    ///
    /// An empty name restores the system's name.
    ///
    /// Throws `adapterNotFound` or `unauthorized`.
    func setAlias(_ alias: String, adapter: String?) async throws(BLEError)

    /// All peripherals that the stack knows on the adapter in use.
    func knownPeripherals() -> [KnownPeripheral]

    /// The number of further links that the stack can make now. Nil, the default, if it does not say so.
    func freeSlots() -> Int?

    /// Why the scan that was started receives nothing at the moment, although the backend tries to go on with it. Nil,
    /// the default, if it goes on, or none was started.
    func scanObstacle() -> BLEError?

    /// Why the adapter is still `resetting`, if that is another reason than the one that the stack was lost for. Its
    /// code is `bluetoothLost`, and its cause what has failed. Nil, the default, if nothing else is known.
    func stackObstacle() -> BLEError?

    /// Restarts the radio, which hears nothing although it should. Its links end. By default, powers the adapter in use
    /// off and on.
    ///
    /// Throws `notSupported` if that is not possible.
    func restart() async throws(BLEError)

    /// Starts scanning, or changes the filter of the running scan.
    ///
    /// A scan that the stack has agreed to, but that receives nothing yet, counts as started: ``scanObstacle()`` says
    /// why.
    ///
    /// Throws `poweredOff`, and `notSupported` if a passive scan is requested but not available.
    func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError)

    /// Stops scanning. Does nothing if no scan is running. It is not asked again after an error: a backend whose stack
    /// may still scan goes on to stop it by itself.
    func stopDiscovery() async throws(BLEError)

    /// Establishes a link, or uses an existing one. If the task is cancelled, no link remains.
    ///
    /// Throws `peripheralNotFound`, `connectionFailed`, `connectionCancelled` or `poweredOff`.
    func connect(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Ends the link or the attempt to connect, and returns when the link is down. Does nothing if there is neither.
    func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Returns the services of a connected peripheral, once they are stable.
    func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase

    /// Returns the ATT MTU of the link to a connected peripheral, in bytes.
    ///
    /// Throws `notSupported` if the stack does not report it.
    func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int

    /// Returns the signal strength of the link to a connected peripheral, in dBm.
    ///
    /// Throws `notSupported` if the stack does not report it, or not at present.
    func signalStrength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int

    /// Returns what the stack knows of a peripheral, under the stack's own names.
    ///
    /// Throws `peripheralNotFound`, and `notSupported`, as by default, if the stack has no such properties.
    func systemProperties(_ peripheral: Peripheral.ID) async throws(BLEError) -> [String: SystemValue]

    /// Starts an operation on an attribute, before it returns.
    ///
    /// The central starts at most one operation on an attribute at a time, and any number on a peripheral: a stack that
    /// takes one at a time has to queue them. While notifications are on, what a read returns is not also delivered as
    /// a notification. When the link ends, the central fails the callers and cancels.
    ///
    /// A backend with asynchronous functions uses ``startTask(completion:_:)``. Starting without a task saves the steps
    /// between the operation and its caller; ``isCurrent`` and ``taskExecutor`` save the others.
    ///
    /// - Parameter completion: called once in the backend's isolation, possibly before this returns, with what was
    ///   read, nothing for a write, or an error. The central then starts the next operation on the attribute: a reply
    ///   to this one must not be taken for a reply to the next.
    /// - Returns: what cancels the operation, in the backend's isolation. The completion is still called, with any
    ///   result. Does nothing if the operation is complete, or cancelled already.
    func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void

    /// Starts notifications or indications and delivers their values in order.
    ///
    /// Returns when the peripheral has agreed; values may arrive earlier. Not called again for the same characteristic
    /// before ``stopNotifications(of:)`` or the end of the link.
    ///
    /// - Parameter deliver: receives each value, in the backend's isolation.
    func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError)

    /// Starts notifications over a dedicated channel, separate from the stack's other traffic, and delivers their
    /// values in order.
    ///
    /// Otherwise like ``startNotifications(of:deliver:)``. If the channel ends while the link is up, the backend
    /// reports `notificationsEnded`.
    ///
    /// Throws `notSupported` for a characteristic that does not notify, and `busy` while another client has its
    /// notifications on.
    ///
    /// - Parameter deliver: receives each value, in the backend's isolation. Returns false if there is no room for
    ///   another value; further values then wait in the channel until ``resumeNotifications(of:)`` or the end of the
    ///   link.
    func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError)

    /// Resumes delivery from a channel whose reader has room again. Does nothing if there is no channel.
    func resumeNotifications(of characteristic: AttributeID)

    /// Opens a channel for writes without response.
    ///
    /// Throws `busy` if a channel is already open, in this or another program.
    func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketSink

    /// Opens an L2CAP channel to a connected peripheral. The transport has not started yet.
    ///
    /// Throws `channelRefused` and `pairingRequired`.
    func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to peripheral: Peripheral.ID
    ) async throws(BLEError) -> any ChannelTransport

    /// Stops notifications. Does nothing if they are off or the link has ended.
    func stopNotifications(of characteristic: AttributeID) async throws(BLEError)

    /// Pairs over an existing link, with prompts to the context's ``PairingAgent``.
    ///
    /// Cancellation ends the pairing, unless it has already succeeded, and withdraws its prompts. If the link cannot be
    /// used after a pairing that has not succeeded, the backend ends it before this method returns.
    ///
    /// Throws `alreadyPaired` without changing the bond, `disconnected` if the link ends first, and the other error
    /// codes of pairing.
    func pair(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Removes the bond and everything else known about the peripheral, and ends its link. Does nothing if the
    /// peripheral is not known.
    func unpair(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Returns the system's current pairing state for the peripheral. Throws `peripheralNotFound`.
    func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState

    /// Changes a system setting for a peripheral. Throws `peripheralNotFound`.
    func set(_ setting: PeripheralSetting, to value: Bool, for peripheral: Peripheral.ID) async throws(BLEError)
}
