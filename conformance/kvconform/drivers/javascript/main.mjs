// The program behind `kvconform run "exec:node main.mjs"`.

import { Driver } from './driver.mjs';
import { serve } from './kit/index.mjs';

await serve(new Driver());
