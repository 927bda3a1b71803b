#if Web
    import BLE
    import Synchronization

    /// Pairs without prompts, only with peripherals that may be paired with.
    ///
    /// To read a value may begin a pairing. A page without the token reads, but must not pair.
    struct WebPairing: PairingDelegate {
        private let mayPair: Set<Peripheral.ID>

        /// Returns the behavior of a central that a page uses.
        ///
        /// - Parameter mayPair: the peripherals that may be paired with. Nil for all.
        static func behavior(mayPair: Set<Peripheral.ID>?) -> PairingBehavior {
            guard let mayPair else { return .justWorks }
            return .prompting(WebPairing(mayPair: mayPair), capability: .noInputNoOutput)
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
