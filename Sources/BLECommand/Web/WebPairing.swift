#if Web
    import BLE
    import Synchronization

    /// Pairs when it is asked to; when a value requires it, only with peripherals that may be paired with.
    ///
    /// A page without the token reads values, which may begin a pairing, but must not pair.
    struct WebPairing: PairingDelegate {
        private let mayPair: Set<Peripheral.ID>

        /// Returns the behavior of a central that a page uses.
        ///
        /// - Parameter mayPair: the peripherals that may be paired with because a value requires it.
        static func behavior(mayPair: Set<Peripheral.ID> = []) -> PairingBehavior {
            .prompting(WebPairing(mayPair: mayPair), capability: .noInputNoOutput)
        }

        func authorizePairing(with peripheral: Peripheral) async -> Bool { mayPair.contains(peripheral.id) }
    }

    /// The central of a program that serves before it has one.
    final class CentralHolder: Sendable {
        private let state = Mutex<Central?>(nil)

        var central: Central? {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }
#endif
