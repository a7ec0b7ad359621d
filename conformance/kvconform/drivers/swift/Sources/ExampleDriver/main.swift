import Foundation
import KvConformKit

exit(serve(Driver()))
